#include "linear/seen.h"

#include <algorithm>

namespace lockkeeper::linear {
namespace {

bool holds(const Call& call) {
  return call.told.word == "granted" || call.told.word == "renewed";
}

class Seen {
 public:
  explicit Seen(const History& history) : history_(history) {
    for (const Call& call : history.calls) {
      const bool first = call.told.word == "granted" && !is_repeated(call);
      if (first) granted_.emplace(call.told.lease, &call);
    }
    requests_.clear();
  }

  std::map<std::string, std::size_t> count() {
    for (const Call& call : history_.calls) {
      see(true, call.answered() ? call.told.word : "no answer");
      see(call.queued != kNever, "queued");
      see(call.told.current, "current");
      see_processes(call);
      see_request(call);
      see_left_behind(call);
      see_delegation(call);
    }
    return std::move(seen_);
  }

 private:
  void see(bool what, const std::string& name) {
    if (what) ++seen_[name];
  }

  // True from the second call with this request id on.
  bool is_repeated(const Call& call) {
    const std::string& id = call.asked.request_id;
    return !id.empty() && !requests_.emplace(call.owner + " " + id, call.process).second;
  }

  const Call* grant_of(const std::string& lease) const {
    const auto found = granted_.find(lease);
    return found == granted_.end() ? nullptr : found->second;
  }

  void see_processes(const Call& call) {
    if (!holds(call)) return;
    const Call* grant = grant_of(call.told.lease);
    see(grant == nullptr, "a lease without an answer met");
    see(grant != nullptr && call.told.word == "renewed" && grant->process != call.process,
        "a lease of another process renewed");
  }

  void see_request(const Call& call) {
    if (!is_repeated(call)) return;
    see(call.answered(), "repeated and " + call.told.word);
    const std::string& first = requests_.at(call.owner + " " + call.asked.request_id);
    see(holds(call) && first != call.process, "repeated by another process");
  }

  // The lease's process was gone, all of it, when the call began.
  bool is_left(const Call& grant, std::int64_t by) const {
    const auto death = history_.deaths.find(grant.asked.attach);
    return grant.asked.grace_ms != 0 && death != history_.deaths.end() && death->second.to <= by;
  }

  void see_left_behind(const Call& call) {
    if (holds(call)) {
      const Call* grant = grant_of(call.told.lease);
      const bool left = grant != nullptr && is_left(*grant, call.invoked);
      see(left, "left behind and taken back");
      if (call.told.word == "granted" && call.asked.grace_ms != 0) left_[call.owner] = &call;
    }
    if (call.told.word == "held" && call.told.by->size() == 1) {
      const auto last = left_.find(*call.told.by->begin());
      see(last != left_.end() && is_left(*last->second, call.invoked),
          "held by what was left behind");
    }
    for (const std::string& lost : call.told.lost) {
      const Call* grant = grant_of(lost);
      see(grant != nullptr && is_left(*grant, call.invoked), "left behind and ended");
      see(grant != nullptr && !grant->asked.under.empty(), "lost what it took under a lease");
    }
  }

  void see_delegation(const Call& call) {
    const bool part = call.owner.find('/') != std::string::npos;
    const bool under = !call.asked.under.empty();
    see(under && call.told.word == "granted", "granted under a lease");
    see(under && call.told.word == "lost", "lost under a lease");
    see(under && call.told.word == "held", "held by a sibling");
    see(part && call.told.word == "deadlock", "deadlock of a part");
    see(part && call.queued != kNever, "waited as a part");
    if (holds(call)) owners_.insert(call.owner);
    see(part && !under && call.told.mine && !owners_.contains(call.owner),
        "a part works in what its session holds");
  }

  const History& history_;
  std::map<std::string, const Call*> granted_;
  std::map<std::string, std::string> requests_;  // the process that asked first
  std::map<std::string, const Call*> left_;
  std::set<std::string> owners_;  // who was granted something before
  std::map<std::string, std::size_t> seen_;
};

}  // namespace

std::map<std::string, std::size_t> seen_in(const History& history) {
  return Seen(history).count();
}

}  // namespace lockkeeper::linear
