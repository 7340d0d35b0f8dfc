// A store that misbehaves on order: a decorator that asks before each call what shall happen to it.
//
// Every call has a running number and a name, so that a loop "fault at call N, N = 1, 2, 3, … until
// a run completes without one" visits every place where a process can fail (F1, F7, F14). One
// simulated process has one FaultyStore; several may stand before one store.
//
// Thread safety: as kv::Store; the decision is asked for by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>

#include "kv/store.h"

namespace lockkeeper::kv {

enum class Call { kBegin, kGet, kScan, kScanBack, kGuard, kPut, kErase, kAppend, kCommit };

// "begin", "get", …, as in a printed plan.
std::string_view call_name(Call call);

struct CallInfo {
  std::uint64_t number = 0;  // from 1, over all transactions of this FaultyStore
  Call call = Call::kBegin;
};

struct Decision {
  enum class Kind {
    kGoOn,
    kFail,      // answer `error`; nothing happened
    kDie,       // before the call: see on_die
    kDieAfter,  // the call is done, then the same; its answer is never seen
    // Of a commit alone:
    kConflict,     // refused, as by an optimistic store
    kLoseReply,    // applied, answered with `unknown`
    kLoseRequest,  // not applied, answered with `unknown`
    kArriveLate  // answered with `unknown`, and decided when arrive() is called (optimistic stores)
  };
  Kind kind = Kind::kGoOn;
  Error error;
};

class FaultyStore final : public Store {
 public:
  using Decide = std::function<Decision(const CallInfo&)>;
  // What dying is. Without one, crash(). One that ends the process does not return; one that stops
  // it (SIGSTOP) returns when it is continued, and the call goes on as if nothing had been.
  using OnDie = std::function<void(const CallInfo&)>;

  // `inner` must outlive this.
  FaultyStore(Store& inner, Decide decide, OnDie on_die = {});

  Result<std::unique_ptr<Txn>> begin(Access access) override;
  Budget budget() const override { return inner_.budget(); }
  Epoch epoch() const override { return inner_.epoch(); }

  // The end of this simulated process: every later call, also on open transactions, answers
  // store_unavailable and reaches nothing. Its transactions are undone at their next call or end.
  void crash();
  bool crashed() const { return crashed_; }
  void revive() { crashed_ = false; }  // its next start; older transactions stay dead

  // Commits that are still on their way, also after a crash of the process that sent them. Each is
  // decided when it arrives; the oldest is the first. REQUIRES of arrive(): there is one.
  std::size_t under_way() const { return under_way_.size(); }
  Result<CommitResult> arrive();
  void lose_under_way() { under_way_.clear(); }

  std::uint64_t calls() const { return calls_; }

 private:
  friend class FaultyTxn;

  struct Step {
    Decision decision;
    CallInfo info;
  };
  // Numbers the call, asks, and dies if told to die before it.
  Step before(Call call);
  // Dies if told to die after it.
  void after(const Step& step);
  void die(const CallInfo& info);

  Store& inner_;
  const Decide decide_;
  const OnDie on_die_;
  std::deque<std::unique_ptr<Txn>> under_way_;
  std::mutex deciding_;
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<std::uint64_t> life_ = 0;
  std::atomic<bool> crashed_ = false;
};

// `decision` for the call of that number, all others go on.
FaultyStore::Decide fault_at(std::uint64_t number, Decision decision);

// A plan given to the shipped program from outside: "kill@N" (SIGKILL before the N-th store call),
// "stop@N" (SIGSTOP), "tstp@N" (Ctrl-Z), or each with "-after", as in "kill-after@N"; N from 1.
struct ProcessFault {
  std::uint64_t number = 0;
  bool after = false;
  int signal = 0;
};

// invalid_input if the text is no such plan.
Result<ProcessFault> parse_process_fault(std::string_view text);

// A store in front of `inner` that raises the plan's signal on this process at that call.
std::unique_ptr<FaultyStore> with_process_fault(Store& inner, const ProcessFault& fault);

}  // namespace lockkeeper::kv
