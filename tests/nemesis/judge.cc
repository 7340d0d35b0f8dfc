#include "nemesis/judge.h"

#include <algorithm>
#include <sstream>

#include "key/resource.h"
#include "nemesis/worker.h"

namespace lockkeeper::nemesis {
namespace {

using linear::Call;
using linear::History;
using linear::kNever;
using linear::Verb;

constexpr std::int64_t kMs = 1'000'000;

// A lease, as far as its holder knows of it.
struct Hold {
  const Call* grant = nullptr;  // the first answer that named it
  std::int64_t asked = kNever;  // when its request was made for the first time
  std::int64_t begins = kNever;
  std::int64_t ends = kNever;  // surely held until then
  std::int64_t queued = kNever;
};

std::map<std::uint64_t, std::int64_t> queued_in(const std::string& text) {
  std::map<std::uint64_t, std::int64_t> queued;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# queued ")) continue;
    std::istringstream words(line.substr(9));
    std::uint64_t call = 0;
    std::int64_t time = 0;
    if (words >> call >> time) queued.emplace(call, time);
  }
  return queued;
}

std::string folder_of(const Call& call) {
  const std::string& name = call.asked.wishes.front().resource;
  return name.substr(0, name.find('/'));
}

bool overlap(const std::string& a, const std::string& b) {
  const auto first = key::parse(a, {});
  const auto second = key::parse(b, {});
  if (!first || !second) throw linear::BadHistory("cannot parse " + a + " or " + b);
  const auto common = key::overlap(first->resource, second->resource);
  return !common || common->has_value();
}

bool conflict(const Call& a, const Call& b) {
  for (const linear::Wish& one : a.asked.wishes) {
    for (const linear::Wish& other : b.asked.wishes) {
      const bool shared = one.mode == core::Mode::kShared && other.mode == core::Mode::kShared;
      if (!shared && overlap(one.resource, other.resource)) return true;
    }
  }
  return false;
}

class Judge {
 public:
  explicit Judge(const std::string& text)
      : history_(linear::parse_history(text)), queued_(queued_in(text)) {}

  Judged run() {
    collect();
    std::map<std::string, std::vector<const Hold*>> by_folder;
    for (const auto& [lease, hold] : holds_) by_folder[folder_of(*hold.grant)].push_back(&hold);
    for (const auto& [folder, holds] : by_folder) {
      for (std::size_t i = 0; i < holds.size(); ++i) {
        for (std::size_t j = i + 1; j < holds.size(); ++j) compare(*holds[i], *holds[j]);
      }
    }
    compare_fences();
    judged_.grants = holds_.size();
    return std::move(judged_);
  }

 private:
  void say(const std::string& what, const Call& a, const Call& b) {
    judged_.violations.push_back(what + "\n  " + linear::invocation_line(a) + "  " +
                                 linear::return_line(a) + "  " + linear::invocation_line(b) + "  " +
                                 linear::return_line(b));
  }

  std::int64_t death_of(const std::string& process) const {
    const auto found = history_.deaths.find(process);
    return found == history_.deaths.end() ? kNever : found->second.from;
  }

  void collect() {
    std::map<std::pair<std::string, std::string>, std::int64_t> first_asked;
    std::map<std::string, std::int64_t> given_back;
    for (const Call& call : history_.calls) {  // by invocation
      if (call.asked.verb == Verb::kAcquire) {
        first_asked.try_emplace({call.owner, call.asked.request_id}, call.invoked);
      }
      if (call.asked.verb == Verb::kRelease) given_back.try_emplace(call.asked.lease, call.invoked);
    }
    for (const Call& call : history_.calls) {
      const bool grant = call.told.word == "granted" || call.told.word == "renewed";
      if (call.asked.verb != Verb::kAcquire || !grant) continue;
      Hold hold;
      hold.grant = &call;
      hold.asked = first_asked.at({call.owner, call.asked.request_id});
      hold.begins = call.returned;
      const auto gone = given_back.find(call.told.lease);
      if (gone != given_back.end()) hold.ends = gone->second;
      if (!call.asked.attach.empty()) hold.ends = std::min(hold.ends, death_of(call.asked.attach));
      if (call.asked.ttl_ms != kNoEnd) {
        hold.ends = std::min(hold.ends, hold.asked + call.asked.ttl_ms * kMs);
      }
      // Known by this very call, which was answered: it has never left its place.
      const auto queued = queued_.find(call.number);
      if (queued != queued_.end()) hold.queued = queued->second;
      holds_.try_emplace(call.told.lease, hold);
    }
  }

  void compare(const Hold& a, const Hold& b) {
    if (!conflict(*a.grant, *b.grant)) return;
    ++judged_.conflicting;
    if (std::max(a.begins, b.begins) < std::min(a.ends, b.ends)) {
      say("I1: two hold what conflicts", *a.grant, *b.grant);
    }
    for (const auto& [first, second] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      if (first->queued == kNever || first->queued >= second->asked) continue;
      ++judged_.in_queue_order;
      if (first->grant->told.fence >= second->grant->told.fence) {
        say("L4: the second overtook the first in the queue", *first->grant, *second->grant);
      }
    }
  }

  void compare_fences() {
    std::vector<const Hold*> told, asked;
    for (const auto& [lease, hold] : holds_) told.push_back(&hold);
    asked = told;
    std::ranges::sort(told, {}, &Hold::begins);
    std::ranges::sort(asked, {}, &Hold::asked);
    const Hold* highest = nullptr;
    std::size_t next = 0;
    for (const Hold* hold : asked) {
      const std::uint64_t fence = hold->grant->told.fence;
      for (; next < told.size() && told[next]->begins < hold->asked; ++next) {
        if (highest == nullptr || told[next]->grant->told.fence > highest->grant->told.fence) {
          highest = told[next];
        }
      }
      if (highest != nullptr && fence <= highest->grant->told.fence) {
        say("I3: a fence that does not grow", *highest->grant, *hold->grant);
      }
      judged_.highest_fence = std::max(judged_.highest_fence, fence);
      judged_.lowest_fence =
          judged_.lowest_fence == 0 ? fence : std::min(judged_.lowest_fence, fence);
    }
  }

  const History history_;
  const std::map<std::uint64_t, std::int64_t> queued_;
  std::map<std::string, Hold> holds_;  // by lease
  Judged judged_;
};

}  // namespace

Judged judge(const std::string& text) {
  return Judge(text).run();
}

History settled(const std::string& text) {
  History history = linear::parse_history(text);
  std::erase_if(history.calls, [](const Call& call) {
    const bool timed =
        !call.asked.wishes.empty() && call.asked.wishes.front().resource.starts_with(kTimedFolder);
    return timed || (call.asked.verb == Verb::kRenew && !call.answered());
  });
  const auto subject = [](const Call& call) {
    return call.owner + " " + call.asked.request_id + call.asked.lease;
  };
  std::map<std::string, std::int64_t> known;  // when the last word was said
  for (auto call = history.calls.rbegin(); call != history.calls.rend(); ++call) {
    const bool changes = call->asked.verb == Verb::kAcquire || call->asked.verb == Verb::kRelease;
    if (!changes || call->told.word == "failed") continue;
    if (call->answered()) {
      known.try_emplace(subject(*call), call->returned);
    } else if (const auto last = known.find(subject(*call)); last != known.end()) {
      call->told.word = "unknown";
      call->returned = last->second;
    }
  }
  return history;
}

std::set<std::string> may_be_left(const std::string& text) {
  const History history = linear::parse_history(text);
  std::set<std::string> left;
  for (const Call& call : history.calls) {  // by invocation: the last word counts
    const std::string session = linear::owner_of(call.owner).session;
    const std::string& word = call.told.word;
    const bool detached = call.asked.attach.empty();
    if (call.asked.verb == Verb::kAcquire && word != "failed") {
      const bool holds = word == "granted" || word == "renewed";
      if (word.empty() || (holds && detached)) {
        left.insert(session);
      } else {
        left.erase(session);
      }
    }
    if (call.asked.verb == Verb::kRelease && !word.empty() && word != "failed") left.erase(session);
  }
  return left;
}

}  // namespace lockkeeper::nemesis
