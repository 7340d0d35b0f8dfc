// One agent's attempts on disk, without a supervisor.
#include "crew/worker.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/test_folder.h"
#include "host/file_ops.h"

namespace lockkeeper::crew {
namespace {

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() : agents_(*open_run_files(temporary_.path())) { record_.id = "a"; }
  static Orders orders() {
    Orders orders;
    orders.agent = "a";
    orders.session = "s/a";
    orders.locks = {"x"};
    orders.command = {{"true"}, false};
    return orders;
  }
  std::string file(const std::string& name) const { return temporary_.file("a/" + name); }

  TestFolder temporary_;
  Folder agents_;
  AgentRecord record_;
};

TEST_F(WorkerTest, EachAttemptHasItsNumberAndItsFolder) {
  Worker worker(record_, agents_);
  ASSERT_TRUE(worker.prepare(orders()));
  EXPECT_EQ(record_.attempts.back().number, 1U);
  record_.attempts.clear();  // a foreman that could not write it down
  ASSERT_TRUE(worker.prepare(orders()));
  EXPECT_EQ(record_.attempts.back().number, 2U);
  const auto folder = open_run_files(file("2"));
  const auto read = orders_from(**folder->read(kOrdersName, 10'000));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->session, "s/a.2");
  EXPECT_EQ(read->environment.at("LOCKKEEPER_ATTEMPT"), "2");
}

TEST_F(WorkerTest, TheLastLineOfALog) {
  Worker worker(record_, agents_);
  EXPECT_EQ(worker.last_line(), "");
  ASSERT_TRUE(worker.prepare(orders()));
  EXPECT_EQ(worker.last_line(), "");
  std::ofstream(file("1/log")) << std::string(10'000, 'x') << "\none\rtwo\r\n\n";
  EXPECT_EQ(worker.last_line(), "two");
}

// An agent that puts a pipe there must not block the foreman.
TEST_F(WorkerTest, APipeInTheLogsPlaceHoldsNobodyUp) {
  Worker worker(record_, agents_);
  ASSERT_TRUE(worker.prepare(orders()));
  ASSERT_EQ(::mkfifo(file("1/log").c_str(), 0600), 0);
  EXPECT_EQ(worker.last_line(), "");
}

TEST_F(WorkerTest, HowAnAttemptThatWasFoundAgainEnded) {
  Worker before(record_, agents_);
  ASSERT_TRUE(before.prepare(orders()));
  {
    Worker worker(record_, agents_);
    EXPECT_FALSE(*worker.find_again(5)) << "nobody lives";
    EXPECT_EQ(*worker.finish(), std::nullopt) << "never started";
  }
  std::ofstream(file("1/started")) << R"({"pid":1,"started_ms":77})";
  {
    Worker worker(record_, agents_);
    EXPECT_FALSE(*worker.find_again(5));
    const auto attempt = worker.finish();
    ASSERT_TRUE(attempt && *attempt);
    EXPECT_EQ((*attempt)->ending, Ending::kDied);
    EXPECT_EQ((*attempt)->started_ms, 77);
  }
  std::ofstream(file("1/result.json")) << "{";
  {
    Worker worker(record_, agents_);
    EXPECT_FALSE(*worker.find_again(5));
    EXPECT_FALSE(worker.finish()) << "a result that cannot be read";
  }
  {
    const auto alive = host::try_lock(*open_run_files(file("1")), kAliveName);
    Worker worker(record_, agents_);
    EXPECT_TRUE(*worker.find_again(5));
    EXPECT_EQ(worker.phase(), Worker::Phase::kRunning);
    EXPECT_EQ(worker.since_ms(), 77);
    EXPECT_FALSE(*worker.gone());
  }
}

// Agents can write there: numbers that do not fit must not stop the foreman.
TEST_F(WorkerTest, AMarkWithNumbersThatDoNotFit) {
  Worker before(record_, agents_);
  ASSERT_TRUE(before.prepare(orders()));
  for (const char* const mark : {R"({"pid":"one","started_ms":[]})", R"({"pid":-1.5})",
                                 R"({"pid":4294967297,"started_ms":9223372036854775808})"}) {
    std::ofstream(file("1/started")) << mark;
    Worker worker(record_, agents_);
    EXPECT_FALSE(*worker.find_again(5)) << mark;
    EXPECT_EQ(worker.since_ms(), 5) << mark;
    const auto attempt = worker.finish();
    ASSERT_TRUE(attempt && *attempt) << mark;
    EXPECT_EQ((*attempt)->ending, Ending::kDied) << mark;
    EXPECT_EQ((*attempt)->started_ms, 0) << mark;
  }
}

}  // namespace
}  // namespace lockkeeper::crew
