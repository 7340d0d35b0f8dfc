// Locks through the C API, beside the real program and other processes.
#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "capi/scene.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

class CLocks : public CTest {
 protected:
  static lockkeeper_acquire_options waiting(std::int64_t wait_ms = LOCKKEEPER_FOREVER) {
    lockkeeper_acquire_options options = LOCKKEEPER_ACQUIRE_OPTIONS_INIT;
    options.wait_ms = wait_ms;
    return options;
  }

  // An acquire in a thread of its own, that waits when this returns.
  template <class Then>
  std::thread waits(const lockkeeper_realm* realm, const char* resource,
                    lockkeeper_acquire_options options, Then then) {
    const std::size_t before = stage_.waiters();
    std::thread thread([=] {
      lockkeeper_lease* lease = nullptr;
      const Said answer = said([&](auto* place) {
        return lockkeeper_acquire(realm, &resource, 1, &options, &lease, place);
      });
      then(answer, lease);
    });
    EXPECT_TRUE(stage_.queue_grows_to(before + 1));
    return thread;
  }
};

TEST_F(CLocks, I1_ExcludesTheProgramAndIsExcludedByIt) {
  lockkeeper_realm* const realm = open();
  lockkeeper_lease* const lease = granted(realm, {"src/"});
  const Answer refused = stage_.expect(75, "ann", {"acquire", "src/a.py"});
  EXPECT_EQ(refused.json()["conflicts"][0]["agent"], "c");
  EXPECT_EQ(refused.json()["conflicts"][0]["fence"], lockkeeper_lease_fence(lease));
  EXPECT_EQ(lockkeeper_lease_close(lease), LOCKKEEPER_OK);
  stage_.expect(0, "ann", {"acquire", "src/a.py", "--reason", "a rewrite"});

  const Said held = acquire(realm, {"src/"});
  EXPECT_EQ(held.status, LOCKKEEPER_HELD);
  EXPECT_EQ(lease_, nullptr);
  EXPECT_THAT(held.message, HasSubstr("a rewrite"));
}

TEST_F(CLocks, AnswersAreTheObjectsOfTheCommandLine) {
  lockkeeper_realm* const realm = open();
  stage_.expect(0, "ann", {"acquire", "src/a.py", "--reason", "a rewrite"});
  const Answer command = stage_.expect(75, "c", {"acquire", "src/"});
  const Said refused = acquire(realm, {"src/"});
  EXPECT_EQ(refused.json["outcome"], command.json()["outcome"]);
  EXPECT_EQ(refused.json["conflicts"], command.json()["conflicts"]);
  const Answer listed = stage_.expect(0, "c", {"list"});
  const Said list = said([&](auto* answer) { return lockkeeper_list(realm, nullptr, answer); });
  EXPECT_EQ(list.json["leases"], listed.json()["leases"]);
  EXPECT_EQ(list.json["waiters"], listed.json()["waiters"]);
  const char* const name = "src/";
  const Said check =
      said([&](auto* answer) { return lockkeeper_check(realm, &name, 1, nullptr, answer); });
  EXPECT_EQ(check.status, LOCKKEEPER_HELD);
  EXPECT_EQ(check.json["conflicts"], stage_.expect(75, "c", {"check", "src/"}).json()["conflicts"]);
  const Said who = said([&](auto* answer) { return lockkeeper_whoami(realm, answer); });
  const Json whoami = stage_.expect(0, "c", {"whoami"}).json();
  for (const char* const field : {"agent", "realm", "store"}) {
    EXPECT_EQ(who.json[field], whoami[field]) << field;
  }
}

TEST_F(CLocks, ALeaseIsCheckedRenewedBrokenAndReleased) {
  lockkeeper_realm* const realm = open();
  lockkeeper_acquire_options options = LOCKKEEPER_ACQUIRE_OPTIONS_INIT;
  options.flags = LOCKKEEPER_SHARED;
  options.task = "a task";
  lockkeeper_lease* const lease = granted(realm, {"a", "b/"}, options);
  const std::uint64_t fence = lockkeeper_lease_fence(lease);
  const char* const name = "a";
  lockkeeper_check_options check = LOCKKEEPER_CHECK_OPTIONS_INIT;
  check.fence = fence;
  EXPECT_EQ(lockkeeper_check(realm, &name, 1, &check, nullptr), LOCKKEEPER_OK);
  check.fence = fence + 1;
  EXPECT_EQ(lockkeeper_check(realm, &name, 1, &check, nullptr), LOCKKEEPER_LOST);

  lockkeeper_renew_options renew = LOCKKEEPER_RENEW_OPTIONS_INIT;
  renew.flags = LOCKKEEPER_ALL;
  renew.ttl_ms = LOCKKEEPER_FOREVER;
  const Said renewed =
      said([&](auto* answer) { return lockkeeper_renew(realm, nullptr, 0, &renew, answer); });
  EXPECT_EQ(renewed.json["renewed"][0]["id"], lockkeeper_lease_id(lease));
  EXPECT_TRUE(renewed.json["renewed"][0]["expires_at"].is_null());
  EXPECT_EQ(lockkeeper_renew(realm, nullptr, 0, nullptr, nullptr), LOCKKEEPER_USAGE);

  EXPECT_EQ(lockkeeper_lease_check(lease, nullptr), LOCKKEEPER_OK);
  const Said done = said([&](auto* answer) { return lockkeeper_lease_release(lease, answer); });
  EXPECT_EQ(done.json["released"], Json::array({"a", "b/"}));
  EXPECT_EQ(lockkeeper_lease_release(lease, nullptr), LOCKKEEPER_NOT_FOUND);
  EXPECT_EQ(lockkeeper_lease_lost(lease, nullptr), LOCKKEEPER_OK);
  EXPECT_EQ(lockkeeper_lease_close(lease), LOCKKEEPER_OK);

  const std::string other = stage_.expect(0, "ann", {"acquire", "a"}).lease();
  const Said broken = said(
      [&](auto* answer) { return lockkeeper_break(realm, other.c_str(), "taking over", answer); });
  EXPECT_EQ(broken.json["broken"][0]["id"], other);
  EXPECT_EQ(lockkeeper_break(realm, other.c_str(), "again", nullptr), LOCKKEEPER_NOT_FOUND);
}

TEST_F(CLocks, AWaitEndsWithAGrantATimeoutOrACancel) {
  stage_.expect(0, "ann", {"acquire", "a"});
  lockkeeper_realm* const realm = open();
  const Said timeout = acquire(realm, {"a"}, waiting(1));
  EXPECT_EQ(timeout.status, LOCKKEEPER_TIMEOUT);
  EXPECT_EQ(timeout.json["outcome"], "timeout");

  lockkeeper_acquire_options options = waiting();
  EXPECT_EQ(lockkeeper_cancel_new(&options.cancel), LOCKKEEPER_OK);
  std::thread cancelled = waits(realm, "a", options, [](const Said& answer, lockkeeper_lease*) {
    EXPECT_EQ(answer.status, LOCKKEEPER_FAILED);
    EXPECT_EQ(answer.json["outcome"], "interrupted");
  });
  lockkeeper_cancel_request(options.cancel);
  cancelled.join();
  EXPECT_EQ(acquire(realm, {"a"}, options).json["outcome"], "interrupted") << "later waits too";
  EXPECT_EQ(lockkeeper_cancel_free(options.cancel), LOCKKEEPER_OK);

  std::thread granted = waits(realm, "a", waiting(), [](const Said& answer, auto* lease) {
    EXPECT_EQ(answer.json["outcome"], "granted");
    EXPECT_EQ(lockkeeper_lease_close(lease), LOCKKEEPER_OK);
  });
  stage_.expect(0, "ann", {"release", "a"});
  granted.join();
}

TEST_F(CLocks, ClosingARealmEndsItsWaits) {
  stage_.expect(0, "ann", {"acquire", "a"});
  lockkeeper_realm* const realm = open();
  std::atomic<bool> returned = false;
  std::thread waiter = waits(realm, "a", waiting(), [&](const Said& answer, lockkeeper_lease*) {
    EXPECT_EQ(answer.json["outcome"], "interrupted");
    returned = true;
  });
  EXPECT_EQ(lockkeeper_close(realm), LOCKKEEPER_OK);
  waiter.join();
  EXPECT_TRUE(returned);
  EXPECT_EQ(stage_.waiters(), 0U);
}

TEST_F(CLocks, ADeadlockIsRefusedWithItsCycle) {
  lockkeeper_realm* const one = open("one");
  lockkeeper_realm* const two = open("two");
  lockkeeper_lease* const first = granted(one, {"a"});
  lockkeeper_lease* const second = granted(two, {"b"});
  std::thread waiter = waits(two, "a", waiting(), [](const Said& answer, auto* lease) {
    EXPECT_EQ(answer.status, LOCKKEEPER_OK);
    lockkeeper_lease_close(lease);
  });
  const Said refused = acquire(one, {"b"}, waiting());
  EXPECT_EQ(refused.status, LOCKKEEPER_DEADLOCK);
  EXPECT_EQ(refused.json["cycle"].size(), 2U);
  EXPECT_EQ(lockkeeper_lease_close(first), LOCKKEEPER_OK);
  waiter.join();
  EXPECT_EQ(lockkeeper_lease_close(second), LOCKKEEPER_OK);
}

// Closes lease and realm from inside the callback.
struct Loss {
  std::atomic<lockkeeper_lease*> lease = nullptr;
  lockkeeper_realm* realm = nullptr;
  std::string message;
  std::atomic<int> told = 0;

  static void on_lost(void* data, const lockkeeper_answer* why) {
    auto* const loss = static_cast<Loss*>(data);
    EXPECT_EQ(lockkeeper_answer_status(why), LOCKKEEPER_LOST);
    EXPECT_EQ(lockkeeper_lease_lost(loss->lease, nullptr), LOCKKEEPER_LOST);
    loss->message = lockkeeper_answer_message(why);
    EXPECT_EQ(lockkeeper_lease_close(loss->lease), LOCKKEEPER_OK);
    EXPECT_EQ(lockkeeper_close(loss->realm), LOCKKEEPER_OK);
    ++loss->told;
  }
};

TEST_F(CLocks, I4_I7_ALostLeaseIsToldWithItsCause) {
  Loss loss;
  loss.realm = open();
  lockkeeper_acquire_options options = LOCKKEEPER_ACQUIRE_OPTIONS_INIT;
  options.on_lost = Loss::on_lost;
  options.on_lost_data = &loss;
  lockkeeper_lease* const watched = granted(loss.realm, {"a"}, options);
  loss.lease = watched;
  lockkeeper_realm* const other = open();
  lockkeeper_lease* const lease = granted(other, {"b"});
  for (const char* const id : {lockkeeper_lease_id(watched), lockkeeper_lease_id(lease)}) {
    stage_.expect(0, "lead", {"break", "--lease", id, "--reason", "taking over"});
  }
  EXPECT_EQ(lockkeeper_lease_check(lease, nullptr), LOCKKEEPER_LOST) << "seen at once";
  const Said why = said([&](auto* answer) { return lockkeeper_lease_lost(lease, answer); });
  EXPECT_EQ(why.status, LOCKKEEPER_LOST);
  EXPECT_EQ(why.json["lost"], true);
  EXPECT_EQ(lockkeeper_lease_release(lease, nullptr), LOCKKEEPER_LOST);
  EXPECT_EQ(lockkeeper_lease_close(lease), LOCKKEEPER_OK);
  EXPECT_TRUE(eventually([&] { return loss.told == 1; }));
  EXPECT_THAT(loss.message, HasSubstr("taking over"));
  EXPECT_EQ(lockkeeper_lease_close(watched), LOCKKEEPER_USAGE) << "the callback has closed it";
}

TEST_F(CLocks, TheLastHolderOfARealmMayBeALease) {
  lockkeeper_realm* const realm = open();
  lockkeeper_lease* const lease = granted(realm, {"a"});
  EXPECT_EQ(lockkeeper_close(realm), LOCKKEEPER_OK);
  EXPECT_EQ(lockkeeper_lease_check(lease, nullptr), LOCKKEEPER_OK) << "it stays held";
  EXPECT_EQ(lockkeeper_lease_close(lease), LOCKKEEPER_OK);
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

// Handles are used by some threads while others close them.
TEST_F(CLocks, ThreadsMayUseAndCloseTheSameHandles) {
  for (int round = 0; round < 5; ++round) {
    lockkeeper_realm* const realm = open();
    lockkeeper_lease* const lease = granted(realm, {"shared"});
    std::atomic<int> closed = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const std::string name = "own-" + std::to_string(i);
        const char* const resource = name.c_str();
        for (int turn = 0; turn < 10; ++turn) {
          lockkeeper_lease* own = nullptr;
          lockkeeper_acquire(realm, &resource, 1, nullptr, &own, nullptr);
          lockkeeper_lease_check(lease, nullptr);
          lockkeeper_list(realm, nullptr, nullptr);
          lockkeeper_lease_lost(lease, nullptr);
          if (own != nullptr) {
            EXPECT_EQ(lockkeeper_lease_close(own), LOCKKEEPER_OK);
          }
          if (turn != 5) continue;
          if (i % 2 == 0) closed += lockkeeper_lease_close(lease) == LOCKKEEPER_OK ? 1 : 0;
          if (i % 2 == 1) closed += lockkeeper_close(realm) == LOCKKEEPER_OK ? 1 : 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(closed, 2) << "each handle is closed once";
  }
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

// --- other processes, which are C programs

TEST_F(CLocks, L1_TheLockOfAKilledProcessIsFreeAtOnce) {
  Process victim = holder("hold", "a", 1h);
  expect_says(victim, "granted");
  stage_.expect(75, "ann", {"acquire", "a"});
  victim.signal(SIGKILL);
  lockkeeper_realm* const realm = open();
  lockkeeper_lease* const lease = granted(realm, {"a"}, waiting(60'000));
  EXPECT_GT(lockkeeper_lease_fence(lease), fence_said(victim.out()));
  EXPECT_EQ(lockkeeper_lease_close(lease), LOCKKEEPER_OK);
}

TEST_F(CLocks, AProcessThatEndsWithoutClosingHoldsNothing) {
  Process leaking = holder("leak", "a", 1h);
  EXPECT_EQ(leaking.wait(), 0) << leaking.err();
  EXPECT_EQ(leaking.err(), "");
  stage_.expect(0, "ann", {"acquire", "a", "--wait=60s"});
}

TEST_F(CLocks, I7_ACProgramIsToldOfItsLoss) {
  Process told = holder("hold", "a", 1h);
  expect_says(told, "granted");
  EXPECT_EQ(act(told, 1), "ok");
  stage_.expect(0, "lead", {"break", "a", "--reason", "taking over"});
  expect_says(told, "taking over");
  EXPECT_EQ(act(told, 2), "refused lost");
}

TEST_F(CLocks, AForkedChildHoldsNothingAndOpensItsOwn) {
  Process parent = holder("fork", "a", 1h);
  expect_says(parent, "child lost");
  EXPECT_EQ(act(parent, 1), "ok") << "the parent still holds it";
  parent.signal(SIGKILL);
  stage_.expect(0, "ann", {"acquire", "a", "--wait=60s"});
  stage_.expect(75, "ann", {"acquire", "other"});
}

TEST_F(CLocks, AThreadThatIsCancelledEndsAfterItsCall) {
  Process process = holder("cancel", "a", 1h);
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_THAT(process.out(), HasSubstr("cancelled late"));
}

}  // namespace
}  // namespace lockkeeper::stage
