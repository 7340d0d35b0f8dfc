// One random program, every backend and the model, equal answers after each step: rows with their
// versions, keys of appended rows, fates and versions of commits.
//
// LOCKKEEPER_SEED replays a run, LOCKKEEPER_STEPS makes it longer.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/bytes.h"
#include "base/random.h"
#include "contract.h"
#include "model_store.h"

namespace lockkeeper::contract {

namespace {

constexpr int kCallsPerTxnMax = 12;  // so that all guarded reads fit the smallest budget
constexpr std::size_t kVisitsMax = 6;

// The versions of one backend as those of the model. They are the same numbers on most, but others
// may use the store at the same time, and one that is far away writes rows of its own.
class Versions {
 public:
  void learn(kv::Version here, kv::Version model) { models_[here] = model; }
  std::string show(kv::Version here) const {
    const auto at = models_.find(here);
    return at == models_.end() ? "?" + std::to_string(here) : std::to_string(at->second);
  }
  std::string show(std::string_view key, kv::Version created) const {
    const auto at = models_.find(created);
    return by_version(key, at == models_.end() ? created : at->second);
  }

 private:
  std::map<kv::Version, kv::Version> models_ = {{0, 0}};
};

std::string show(const kv::Row& row, const Versions& versions) {
  std::string out = versions.show(row.key, row.created);
  out.append("=");
  if (row.value.size() <= 16) {
    out.append(row.value);
  } else {
    out.append(std::to_string(row.value.size())).append("#");
    out.append(std::to_string(hash64(row.value)));
  }
  out.append("@").append(versions.show(row.created));
  return out.append("/").append(versions.show(row.modified)).append(" ");
}

// The answer of one call as a text, so that any two can be compared and printed.
template <class T>
std::string show_error(const Result<T>& result) {
  return std::string("error ").append(code_name(result.error().code));
}

class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {}

  // One call, to be made on each store. `describe` is for the failure message.
  struct Step {
    std::string describe;
    std::function<std::string(kv::Txn&, const Versions&)> call;
    bool ends = false;
    bool commits = false;  // call it by commit() below instead
  };

  bool next_txn_writes() { return below(8) != 0; }

  Step next(int calls_made) {
    if (calls_made >= kCallsPerTxnMax || below(9) == 0) return below(6) == 0 ? drop() : commit();
    switch (below(13)) {
      case 0:
      case 1:
        return get();
      case 2:
      case 3:
        return scan();
      case 4:
        return scan_back();
      case 5:
        return guard();
      case 6:
        return append();
      case 7:
      case 8:
        return erase();
      default:
        return put();
    }
  }

  Step next_reading(int calls_made) {
    if (calls_made >= kCallsPerTxnMax || below(5) == 0) return commit();
    const std::uint64_t which = below(3);
    return which == 0 ? get() : which == 1 ? scan() : scan_back();
  }

  void begin_txn() { written_.clear(); }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_below(random_, bound); }

  // Few keys, so that calls meet; zeros, ff and prefixes of each other among them.
  std::string key() {
    static const std::string letters("\0ab\x80\xff", 5);
    std::string key(1, letters[below(letters.size())]);
    while (key.size() < 3 && below(2) == 0) key.push_back(letters[below(letters.size())]);
    if (below(200) == 0) key.resize(kv::kKeyBytesMax, 'k');
    return key;
  }

  std::string value() {
    const std::uint64_t kind = below(40);
    const std::uint64_t size = kind == 0 ? below(20000) : kind < 5 ? 0 : below(40);
    std::string value(size, static_cast<char>(below(256)));
    if (!value.empty()) value.back() = static_cast<char>(below(256));
    return value;
  }

  kv::Range range() {
    if (below(4) == 0) return {std::string(1, '\0'), std::string(4, '\xff')};
    return {key(), key()};  // also empty and inverted ones
  }

  kv::Read how() { return below(2) == 0 ? kv::Read::kGuarded : kv::Read::kPeek; }

  Step get() {
    const std::string k = key();
    const kv::Read read = how();
    return {"get " + to_hex(k), [k, read](kv::Txn& txn, const Versions& versions) {
              const auto row = txn.get(k, read);
              if (!row) return show_error(row);
              return *row ? show(**row, versions) : std::string("none");
            }};
  }

  Step scan() {
    const kv::Range r = range();
    const kv::Read read = how();
    const std::size_t most = read == kv::Read::kGuarded ? 1 + below(kVisitsMax)
                             : below(2) == 0            ? SIZE_MAX
                                                        : 1;
    return {"scan " + to_hex(r.from) + " " + to_hex(r.to),
            [r, read, most](kv::Txn& txn, const Versions& versions) {
              std::string seen;
              std::size_t left = most;
              const auto done = txn.scan(
                  r,
                  [&](const kv::Row& row) {
                    seen += show(row, versions);
                    return --left > 0;
                  },
                  read);
              return done ? seen : show_error(done);
            }};
  }

  Step scan_back() {
    const kv::Range r = range();
    const std::size_t most = below(8) == 0 ? SIZE_MAX : 1 + below(3);
    return {"scan_back " + to_hex(r.from) + " " + to_hex(r.to),
            [r, most](kv::Txn& txn, const Versions& versions) {
              std::string seen;
              std::size_t left = most;
              const auto done = txn.scan_back(r, [&](const kv::Row& row) {
                seen += show(row, versions);
                return --left > 0;
              });
              return done ? seen : show_error(done);
            }};
  }

  // Mostly one that holds: what the store itself answers to a peek just before.
  Step guard() {
    const std::string k = key();
    for (const std::string& own : written_) {
      if (own == k) return get();  // REQUIRES: this transaction has not written there
    }
    const bool wrong = below(20) == 0;
    return {"guard " + to_hex(k), [k, wrong](kv::Txn& txn, const Versions&) {
              const auto row = txn.get(k, kv::Read::kPeek);
              if (!row) return show_error(row);
              const bool absent = *row ? wrong : !wrong;
              const auto done = absent ? txn.guard_absent(k)
                                       : txn.guard_unchanged(k, *row ? (*row)->modified : 1);
              return done ? std::string("ok") : show_error(done);
            }};
  }

  Step put() {
    const std::string k = key();
    const std::string v = value();
    written_.push_back(k);
    return {"put " + to_hex(k) + " " + std::to_string(v.size()),
            [k, v](kv::Txn& txn, const Versions&) {
              const auto done = txn.put(k, v);
              return done ? std::string("ok") : show_error(done);
            }};
  }

  Step erase() {
    const std::string k = key();
    written_.push_back(k);
    return {"erase " + to_hex(k), [k](kv::Txn& txn, const Versions&) {
              const auto done = txn.erase(k);
              return done ? std::string("ok") : show_error(done);
            }};
  }

  Step append() {
    if (below(3) == 0) return trim();
    const std::string prefix = "b";
    const std::string v = value();
    return {"append " + to_hex(prefix), [prefix, v](kv::Txn& txn, const Versions&) {
              const auto done = txn.append(prefix, v);
              return done ? std::string("ok") : show_error(done);
            }};
  }

  // Erases the oldest appended rows, or the store would only grow.
  Step trim() {
    const kv::Range r = {std::string("b\0\0\0", 4), std::string("b\0\0\1", 4)};
    return {"trim", [r](kv::Txn& txn, const Versions& versions) {
              std::vector<std::string> oldest, shown;
              const auto seen = txn.scan(
                  r,
                  [&](const kv::Row& row) {
                    oldest.emplace_back(row.key);
                    shown.push_back(versions.show(row.key, row.created));
                    return oldest.size() < 8;
                  },
                  kv::Read::kPeek);
              if (!seen) return show_error(seen);
              std::string erased;
              for (const std::string& k : oldest) {
                if (const auto done = txn.erase(k); !done) return show_error(done);
              }
              for (const std::string& k : shown) erased += to_hex(k) + " ";
              return erased;
            }};
  }

  Step commit() { return {"commit", {}, true, true}; }

  Step drop() {
    return {"drop", [](kv::Txn&, const Versions&) { return std::string("dropped"); }, true};
  }

  SeededRandom random_;
  std::vector<std::string> written_;
};

// A store with its name, as the program runs on it.
struct Runner {
  std::string name;
  std::unique_ptr<Opened> opened;  // none: the model
  kv::Store* store = nullptr;
  std::unique_ptr<kv::Txn> txn;
  Versions versions;
  bool far = false;
};

kv::Version version_of(kv::Store& store) {
  Tx tx(store, kv::Access::kRead);
  return tx.committed();
}

// The backends begin at one version, so that appended keys are equal too.
std::vector<Runner> open_all(const std::vector<Backend>& chosen) {
  kv::Version start = 0;
  for (const Backend& backend : chosen) {
    if (!backend.far) start = std::max(start, version_of(backend.open()->store()));
  }
  std::vector<Runner> runners;
  for (const Backend& backend : chosen) {
    auto opened = backend.open_at(start);
    kv::Store* store = &opened->store();
    Runner runner{backend.name, std::move(opened), store, nullptr, {}, backend.far};
    if (!backend.far) {
      EXPECT_EQ(version_of(*store), start) << backend.name;
    }
    runner.versions.learn(version_of(*store), start);
    runners.push_back(std::move(runner));
  }
  return runners;
}

class Differential {
 public:
  Differential(const std::vector<Backend>& chosen, std::uint64_t seed)
      : seed_(seed), program_(seed), runners_(open_all(chosen)) {
    const auto near = std::ranges::find(runners_, false, &Runner::far);
    const kv::Version start = near == runners_.end() ? 0 : version_of(*near->store);
    model_ = std::make_unique<ModelStore>(start);
    runners_.push_back({"model", nullptr, model_.get(), nullptr, {}, false});
    runners_.back().versions.learn(start, start);
  }

  // False, with the failure reported, at the first difference.
  bool run(std::uint64_t steps) {
    while (steps_ < steps) {
      if (!run_txn()) return false;
    }
    return true;
  }

 private:
  bool run_txn() {
    const bool writes = program_.next_txn_writes();
    trace_ = writes ? "begin write" : "begin read";
    for (Runner& runner : runners_) {
      auto txn = runner.store->begin(writes ? kv::Access::kWrite : kv::Access::kRead);
      if (!txn) return report(runner.name, show_error(txn), "begun");
      runner.txn = std::move(*txn);
    }
    program_.begin_txn();
    for (int calls = 0;; ++calls) {
      const auto step = writes ? program_.next(calls) : program_.next_reading(calls);
      trace_ += "\n  " + step.describe;
      ++steps_;
      model_version_ = 0;
      const std::string expected = call(step, runners_.back());
      for (Runner& runner : runners_) {
        if (&runner == &runners_.back()) break;
        const std::string answer = call(step, runner);
        if (answer != expected) return report(runner.name, answer, expected);
      }
      if (!step.ends) continue;
      for (Runner& runner : runners_) runner.txn.reset();
      return true;
    }
  }

  // A commit teaches which version of the backend is which of the model. The model comes first.
  std::string call(const Program::Step& step, Runner& runner) {
    if (!step.commits) return step.call(*runner.txn, runner.versions);
    const auto done = runner.txn->commit();
    if (!done) return show_error(done);
    if (done->fate == kv::Fate::kConflict) return "conflict";
    if (&runner == &runners_.back()) model_version_ = done->version;
    if (!runner.far && done->version != model_version_) {
      return "committed " + std::to_string(done->version);
    }
    runner.versions.learn(done->version, model_version_);
    return "committed " + std::to_string(model_version_);
  }

  bool report(const std::string& name, const std::string& answer, const std::string& expected) {
    ADD_FAILURE() << "LOCKKEEPER_SEED=" << seed_ << "\nstep " << steps_ << ": " << name
                  << " answers\n  " << testing::PrintToString(answer) << "\nthe model\n  "
                  << testing::PrintToString(expected) << "\nin the transaction\n"
                  << trace_;
    return false;
  }

  const std::uint64_t seed_;
  Program program_;
  std::unique_ptr<ModelStore> model_;
  std::vector<Runner> runners_;
  kv::Version model_version_ = 0;  // of the commit that is being compared
  std::uint64_t steps_ = 0;
  std::string trace_;
};

std::vector<Backend> that_sync(bool syncs) {
  std::vector<Backend> some;
  for (const Backend& backend : backends()) {
    if (backend.syncs == syncs && !backend.far) some.push_back(backend);
  }
  return some;
}

std::uint64_t steps_or(std::uint64_t otherwise) {
  const char* text = std::getenv("LOCKKEEPER_STEPS");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST(DifferentialTest, EqualAnswersOnEveryBackend) {
  const std::uint64_t seed = test_seed(SystemRandom().next() >> 32);
  EXPECT_TRUE(Differential(that_sync(false), seed).run(steps_or(300000)));
}

// Memory, LMDB and etcd.
TEST(DifferentialTest, EqualAnswersOnEtcdToo) {
  std::vector<Backend> some;
  for (const Backend& backend : backends()) {
    if (!backend.syncs) some.push_back(backend);
  }
  if (some.empty() || !some.back().far) GTEST_SKIP() << "there is no etcd in build/etcd";
  const std::uint64_t seed = test_seed(SystemRandom().next() >> 32);
  EXPECT_TRUE(Differential(some, seed).run(steps_or(6000)));
}

TEST(DifferentialTest, EqualAnswersWhereACommitWaitsForTheDisk) {
  if (that_sync(true).empty()) GTEST_SKIP() << "no such backend in this build";
  const std::uint64_t seed = test_seed(SystemRandom().next() >> 32);
  EXPECT_TRUE(Differential(that_sync(true), seed).run(steps_or(4000)));
}

}  // namespace lockkeeper::contract
