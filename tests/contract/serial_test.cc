// Optimistic stores under random interleavings: a transaction that only reads guarded, then writes,
// commits exactly if every one of its reads would be answered the same at the moment of the commit.
// Both ways: a commit that should have conflicted breaks I1, a conflict without cause breaks L9.
#include <string>

#include "base/random.h"
#include "contract.h"

namespace lockkeeper::contract {

namespace {

constexpr int kOpenTxns = 6;
constexpr int kSteps = 200000;
constexpr int kStepsFar = 6000;  // where each is a question to another process

// A guarded read, and what was answered: keys and the versions of the rows' last change.
struct Question {
  bool point = false;
  kv::Range range;  // point: `from` alone
  std::size_t most = SIZE_MAX;
};

std::string ask(kv::Txn& txn, const Question& question, kv::Read read) {
  std::string answer;
  const auto note = [&](const kv::Row& row) {
    answer.append(row.key).append("@").append(std::to_string(row.modified)).append(" ");
  };
  if (question.point) {
    const auto row = txn.get(question.range.from, read);
    EXPECT_TRUE(row.has_value());
    if (row && *row) note(**row);
    return answer;
  }
  std::size_t left = question.most;
  const auto done = txn.scan(
      question.range,
      [&](const kv::Row& row) {
        note(row);
        return --left > 0;
      },
      read);
  EXPECT_TRUE(done.has_value());
  return answer;
}

struct Actor {
  std::unique_ptr<kv::Txn> txn;
  std::vector<std::pair<Question, std::string>> asked;
};

class Interleaver {
 public:
  Interleaver(kv::Store& store, std::uint64_t seed) : store_(store), random_(seed) {}

  // One step of one actor; false at the first wrong fate.
  bool step() {
    Actor& actor = actors_[below(kOpenTxns)];
    if (actor.txn == nullptr) {
      auto txn = store_.begin(kv::Access::kWrite);
      EXPECT_TRUE(txn.has_value());
      actor.txn = std::move(*txn);
      return true;
    }
    if (actor.asked.size() < 4 && below(3) != 0) {
      const Question question = draw();
      actor.asked.emplace_back(question, ask(*actor.txn, question, kv::Read::kGuarded));
      return true;
    }
    return finish(actor);
  }

  std::uint64_t commits() const { return commits_; }
  std::uint64_t conflicts() const { return conflicts_; }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_below(random_, bound); }
  std::string key() { return std::string(1, static_cast<char>('a' + below(12))); }

  Question draw() {
    Question question;
    question.point = below(2) == 0;
    question.range = {key(), key()};
    if (below(2) == 0) question.most = 1 + below(3);
    return question;
  }

  bool finish(Actor& actor) {
    bool same = true;
    {
      const auto now = store_.begin(kv::Access::kRead);
      for (const auto& [question, answer] : actor.asked) {
        same = same && ask(**now, question, kv::Read::kPeek) == answer;
      }
    }
    for (std::uint64_t writes = below(3); writes > 0; --writes) {
      EXPECT_TRUE(below(2) == 0 ? actor.txn->put(key(), "") : actor.txn->erase(key()));
    }
    const auto result = actor.txn->commit();
    EXPECT_TRUE(result.has_value());
    const bool committed = result && result->fate == kv::Fate::kCommitted;
    ++(committed ? commits_ : conflicts_);
    EXPECT_EQ(committed, same);
    actor = {};
    return committed == same;
  }

  kv::Store& store_;
  SeededRandom random_;
  Actor actors_[kOpenTxns];
  std::uint64_t commits_ = 0;
  std::uint64_t conflicts_ = 0;
};

class SerialTest : public Contract {};
INSTANTIATE_TEST_SUITE_P(Optimistic, SerialTest, testing::ValuesIn(optimistic_backends()),
                         backend_name);

}  // namespace

TEST_P(SerialTest, I1L9CommitsExactlyIfEveryGuardedAnswerStillHolds) {
  const std::uint64_t seed = test_seed(SystemRandom().next() >> 32);
  Interleaver interleaver(store(), seed);
  const bool far = GetParam().far;
  for (int i = 0; i < (far ? kStepsFar : kSteps); ++i) {
    ASSERT_TRUE(interleaver.step()) << "LOCKKEEPER_SEED=" << seed << " step " << i;
  }
  EXPECT_GT(interleaver.commits(), far ? 100U : 1000U);
  EXPECT_GT(interleaver.conflicts(), far ? 100U : 1000U);
}

}  // namespace lockkeeper::contract
