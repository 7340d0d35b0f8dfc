#include "kv/memory/faulty_store.h"

#include <csignal>

#include <charconv>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/text.h"

namespace lockkeeper::kv {

namespace {

using Kind = Decision::Kind;

std::unexpected<Error> gone() {
  return fail(Code::kStoreUnavailable, "this simulated process has crashed");
}

std::unexpected<Error> fate_unknown() {
  return fail(Code::kUnknown, "the reply to the commit was lost",
              "ask again with the same request id");
}

bool only_of_a_commit(Kind kind) {
  return kind == Kind::kConflict || kind == Kind::kLoseReply || kind == Kind::kLoseRequest ||
         kind == Kind::kArriveLate;
}

}  // namespace

class FaultyTxn final : public Txn {
 public:
  FaultyTxn(FaultyStore& store, Access access, std::unique_ptr<Txn> inner)
      : store_(store),
        life_(store.life_),
        begun_(++store.begun_),
        writes_(access == Access::kWrite),
        inner_(std::move(inner)) {}

  Result<std::optional<Row>> get(std::string_view key, Read read) override {
    return around<std::optional<Row>>(Call::kGet, [&] { return inner_->get(key, read); });
  }
  Result<void> scan(const Range& range, const Visit& visit, Read read) override {
    return around<void>(Call::kScan, [&] { return inner_->scan(range, visit, read); });
  }
  Result<void> scan_back(const Range& range, const Visit& visit) override {
    return around<void>(Call::kScanBack, [&] { return inner_->scan_back(range, visit); });
  }
  Result<void> scan_appended(std::string_view prefix, std::uint64_t after,
                             const VisitAppended& visit) override {
    return around<void>(Call::kScan, [&] { return inner_->scan_appended(prefix, after, visit); });
  }
  Result<void> scan_appended_back(std::string_view prefix, const VisitAppended& visit) override {
    return around<void>(Call::kScanBack, [&] { return inner_->scan_appended_back(prefix, visit); });
  }
  Result<void> guard_absent(std::string_view key) override {
    return around<void>(Call::kGuard, [&] { return inner_->guard_absent(key); });
  }
  Result<void> guard_empty(const Range& range) override {
    return around<void>(Call::kGuard, [&] { return inner_->guard_empty(range); });
  }
  Result<void> guard_unchanged(std::string_view key, Version modified) override {
    return around<void>(Call::kGuard, [&] { return inner_->guard_unchanged(key, modified); });
  }
  GuardMark guard_mark() const override { return inner_ == nullptr ? 0 : inner_->guard_mark(); }
  void drop_guards(GuardMark since) override {
    if (inner_ != nullptr) inner_->drop_guards(since);
  }
  Result<void> put(std::string_view key, std::string_view value, Lifetime lifetime) override {
    return around<void>(Call::kPut, [&] { return inner_->put(key, value, lifetime); });
  }
  Result<void> erase(std::string_view key) override {
    return around<void>(Call::kErase, [&] { return inner_->erase(key); });
  }
  Result<void> append(std::string_view prefix, std::string_view value) override {
    return around<void>(Call::kAppend, [&] { return inner_->append(prefix, value); });
  }
  Budget left() const override { return inner_ == nullptr ? Budget{0, 0} : inner_->left(); }

  Result<CommitResult> commit() override {
    return around<CommitResult>(Call::kCommit, [&] {
      auto done = inner_->commit();
      if (done && done->fate == Fate::kCommitted && writes_) store_.committed(begun_);
      return done;
    });
  }

 private:
  template <class T, class Act>
  Result<T> around(Call call, Act act) {
    if (dead()) return gone();
    const auto step = store_.before(call);
    if (dead()) return gone();
    switch (step.decision.kind) {
      case Kind::kFail:
        return fail(step.decision.error);
      case Kind::kLoseRequest:
        return fate_unknown();
      case Kind::kArriveLate:
        store_.under_way_.push_back({std::move(inner_), life_, store_.begun_, false});
        return fate_unknown();
      case Kind::kConflict:
        if constexpr (std::is_same_v<T, CommitResult>) return CommitResult{Fate::kConflict, 0};
        break;
      case Kind::kLoseReply: {
        Result<T> done = inside(act);
        if (!done) return done;
        if constexpr (std::is_same_v<T, CommitResult>) {
          if (done->fate == Fate::kConflict) return done;  // it had no reply worth losing
        }
        return fate_unknown();
      }
      case Kind::kGoOn:
      case Kind::kDie:
      case Kind::kDieAfter:
        break;
    }
    Result<T> done = inside(act);
    store_.after(step);
    if (dead()) return gone();
    return done;
  }

  template <class Act>
  auto inside(Act& act) {
    ++depth_;
    auto done = act();
    --depth_;
    return done;
  }

  // A dead process's transaction is undone and stops excluding others, but not while a scan runs
  // whose visitor made the call that died.
  bool dead() {
    const bool dead = life_ != store_.life_ || store_.crashed_;
    if (dead && depth_ == 0) inner_.reset();
    return dead;
  }

  FaultyStore& store_;
  const std::uint64_t life_;
  const std::uint64_t begun_;
  const bool writes_;
  std::unique_ptr<Txn> inner_;
  int depth_ = 0;  // calls under way
};

std::string_view call_name(Call call) {
  switch (call) {
    case Call::kBegin:
      return "begin";
    case Call::kGet:
      return "get";
    case Call::kScan:
      return "scan";
    case Call::kScanBack:
      return "scan_back";
    case Call::kGuard:
      return "guard";
    case Call::kPut:
      return "put";
    case Call::kErase:
      return "erase";
    case Call::kAppend:
      return "append";
    case Call::kCommit:
      return "commit";
  }
  return "?";
}

FaultyStore::FaultyStore(Store& inner, Decide decide, OnDie on_die)
    : inner_(inner), decide_(std::move(decide)), on_die_(std::move(on_die)) {}

FaultyStore::Step FaultyStore::before(Call call) {
  Step step;
  {
    const std::lock_guard lock(deciding_);
    step.info = {++calls_, call};
    step.decision = decide_(step.info);
  }
  LOCKKEEPER_ASSERT(call == Call::kCommit || !only_of_a_commit(step.decision.kind));
  if (step.decision.kind == Kind::kDie) die(step.info);
  return step;
}

void FaultyStore::after(const Step& step) {
  if (step.decision.kind == Kind::kDieAfter) die(step.info);
}

void FaultyStore::die(const CallInfo& info) {
  if (on_die_) {
    on_die_(info);
  } else {
    crash();
  }
}

Result<CommitResult> FaultyStore::arrive() {
  LOCKKEEPER_ASSERT(!under_way_.empty());
  const UnderWay late = std::move(under_way_.front());
  under_way_.pop_front();
  if (late.settled && settles_) return CommitResult{Fate::kConflict, 0};
  return late.txn->commit();
}

void FaultyStore::committed(std::uint64_t begun) {
  for (UnderWay& late : under_way_) {
    late.settled = late.settled || (late.life == life_ && begun > late.begun_before);
  }
}

void FaultyStore::crash() {
  ++life_;
  crashed_ = true;
}

Result<std::unique_ptr<Txn>> FaultyStore::begin(Access access) {
  if (crashed_) return gone();
  const Step step = before(Call::kBegin);
  if (crashed_) return gone();
  if (step.decision.kind == Kind::kFail) return fail(step.decision.error);
  auto inner = inner_.begin(access);
  if (!inner) return inner;
  auto txn = std::make_unique<FaultyTxn>(*this, access, std::move(*inner));
  after(step);
  if (crashed_) return gone();
  return txn;
}

FaultyStore::Decide fault_at(std::uint64_t number, Decision decision) {
  return [number, decision = std::move(decision)](const CallInfo& info) {
    return info.number == number ? decision : Decision{};
  };
}

Result<ProcessFault> parse_process_fault(std::string_view text) {
  const auto bad = [&] {
    return fail(Code::kInvalidInput, "not a fault plan: " + quote(text),
                "write kill@N, stop@N, tstp@N, or kill-after@N and so on");
  };
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return bad();
  std::string_view verb = text.substr(0, at);
  ProcessFault fault;
  fault.after = verb.ends_with("-after");
  if (fault.after) verb.remove_suffix(std::string_view("-after").size());
  if (verb == "kill") {
    fault.signal = SIGKILL;
  } else if (verb == "stop") {
    fault.signal = SIGSTOP;
  } else if (verb == "tstp") {
    fault.signal = SIGTSTP;
  } else {
    return bad();
  }
  const std::string_view digits = text.substr(at + 1);
  const char* end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, fault.number);
  if (parsed.ec != std::errc() || parsed.ptr != end || fault.number == 0) return bad();
  return fault;
}

std::unique_ptr<FaultyStore> with_process_fault(Store& inner, const ProcessFault& fault) {
  const Kind kind = fault.after ? Kind::kDieAfter : Kind::kDie;
  return std::make_unique<FaultyStore>(
      inner, fault_at(fault.number, {kind, {}}),
      [signal = fault.signal](const CallInfo&) { std::raise(signal); });
}

}  // namespace lockkeeper::kv
