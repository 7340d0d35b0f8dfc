// A store that fails on demand: a decorator that asks before each call what should happen.
//
// Calls are numbered. So a loop "fault at call N, for N = 1, 2, 3, … until a run completes without
// one" visits every place where a process can fail (F1, F7, F14). Each simulated process has its
// own FaultyStore; several may wrap one store.
//
// Thread safety: as kv::Store; one thread at a time asks for a decision.
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
    kDieAfter,  // the same after the call; nobody sees its answer
    // Only for a commit:
    kConflict,     // refused, as by an optimistic store
    kLoseReply,    // applied, answered with `unknown`
    kLoseRequest,  // not applied, answered with `unknown`
    kArriveLate    // answered with `unknown`, decided by arrive() (optimistic stores)
  };
  Kind kind = Kind::kGoOn;
  Error error;
};

class FaultyStore final : public Store {
 public:
  using Decide = std::function<Decision(const CallInfo&)>;
  // How to die; the default is crash(). If it ends the process, it does not return. If it stops the
  // process (SIGSTOP), it returns when the process continues, and the call goes on normally.
  using OnDie = std::function<void(const CallInfo&)>;

  // `inner` must outlive this.
  FaultyStore(Store& inner, Decide decide, OnDie on_die = {});

  Result<std::unique_ptr<Txn>> begin(Access access) override;
  Budget budget() const override { return inner_.budget(); }
  Epoch epoch() const override { return inner_.epoch(); }

  // Ends this simulated process: every later call, even on open transactions, answers
  // store_unavailable and does nothing. Its transactions are undone at their next call or end.
  void crash();
  bool crashed() const { return crashed_; }
  void revive() { crashed_ = false; }  // its next start; older transactions stay dead

  // Commits that are still on their way, even after their process crashed. arrive() decides the
  // oldest one. REQUIRES: there is one. As kv/store.h promises, those can no longer happen once a
  // transaction begun after their answer was committed by the same life; arrive() then answers
  // kConflict. never_settle() leaves that promise out: whatever must hold, holds without it too.
  std::size_t under_way() const { return under_way_.size(); }
  Result<CommitResult> arrive();
  void lose_under_way() { under_way_.clear(); }
  void never_settle() { settles_ = false; }

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
  struct UnderWay {
    std::unique_ptr<Txn> txn;
    std::uint64_t life = 0;
    std::uint64_t begun_before = 0;  // so many transactions had begun when it was answered
    bool settled = false;            // it can no longer happen
  };
  void committed(std::uint64_t begun);

  std::deque<UnderWay> under_way_;
  bool settles_ = true;
  std::uint64_t begun_ = 0;  // transactions
  std::mutex deciding_;
  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<std::uint64_t> life_ = 0;
  std::atomic<bool> crashed_ = false;
};

// `decision` for the call with that number; all others go on.
FaultyStore::Decide fault_at(std::uint64_t number, Decision decision);

// A fault plan for the real program: "kill@N" (SIGKILL before the N-th store call), "stop@N"
// (SIGSTOP), "tstp@N" (Ctrl-Z), or each with "-after", as in "kill-after@N"; N from 1.
struct ProcessFault {
  std::uint64_t number = 0;
  bool after = false;
  int signal = 0;
};

// invalid_input: the text is not such a plan.
Result<ProcessFault> parse_process_fault(std::string_view text);

// A store in front of `inner` that raises the plan's signal on this process at that call.
std::unique_ptr<FaultyStore> with_process_fault(Store& inner, const ProcessFault& fault);

}  // namespace lockkeeper::kv
