#include "linear/check.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

namespace lockkeeper::linear {
namespace {

constexpr std::size_t kFewOptional = 4;
constexpr std::size_t kMoreOptional = 4;

// Time of the processor: on a busy machine a search is no larger.
class Stopwatch {
 public:
  explicit Stopwatch(double seconds)
      : end_(std::clock() + static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC)) {}
  bool is_over() const { return std::clock() > end_; }

 private:
  std::clock_t end_;
};

struct DigestHash {
  std::size_t operator()(const Digest& digest) const { return digest.a ^ digest.b; }
};

class Search {
 public:
  // Looks for orders with so many of the optional steps at most.
  Search(const Part& part, const Limits& limits, const Stopwatch& watch, std::size_t most_optional)
      : part_(part),
        limits_(limits),
        watch_(watch),
        most_optional_(most_optional),
        done_(part.steps.size(), false) {
    for (std::size_t i = 0; i < part.steps.size(); ++i) {
      Digest key;
      key.add(i + 1);
      keys_.push_back(key);
      if (!part.steps[i].optional) ++left_;
    }
  }

  Outcome run() {
    enter(State(part_), 0, {});
    while (!path_.empty()) {
      if (left_ == 0) return Outcome::kLinearizable;
      if (seen_.size() > limits_.configurations || watch_.is_over()) {
        return Outcome::kUndecided;
      }
      step_down();
    }
    return Outcome::kViolated;
  }

  // Might there be an order with more of them?
  bool left_out_any() const { return left_out_any_; }
  std::size_t configurations() const { return seen_.size(); }

  std::string farthest() const {
    std::string text = "after " + std::to_string(most_done_) + " of " +
                       std::to_string(part_.steps.size()) + " steps none of these can be next:\n";
    for (const std::size_t i : stuck_at_) {
      const Call& call = *part_.steps[i].call;
      text += "  " + invocation_line(call) + "    ";
      text += call.answered() ? return_line(call) : "(no answer)\n";
    }
    return text + "where\n" + stuck_in_;
  }

 private:
  // A configuration on the way, and what is left to try from it.
  struct Node {
    State state;
    std::size_t base;                     // all before it are done or can no longer happen
    std::vector<std::size_t> undo;        // the steps that led here
    std::vector<std::size_t> candidates;  // last one first
    std::vector<Next> ways;               // of the candidate being tried
    std::size_t next_way = 0;
    std::size_t trying = 0;
    std::int64_t latest = kNever;
  };

  bool passed(std::size_t i, const State& state) const {
    const Step& step = part_.steps[i];
    return done_[i] || (step.optional && step.returned < state.now);
  }

  // One request that was repeated and never answered may as well have happened in its order. While
  // it is in the queue, or was handed what it waits for, to repeat it changes nothing.
  bool is_needless(std::size_t i, const State& state) const {
    const Step& step = part_.steps[i];
    if (!step.optional || !step.asks()) return false;
    if (step.before != i && !done_[step.before]) return true;
    const auto life = state.lives.find(step.entry.id);
    if (life == state.lives.end() || life->second.asker == nullptr) return false;
    const bool undecided = life->second.handed || state.model.waiters.contains(step.entry.id);
    return undecided && life->second.asker->first == step.first;
  }

  void enter(State state, std::size_t base, std::vector<std::size_t> undo) {
    while (base < part_.steps.size() && passed(base, state)) ++base;
    Node node{std::move(state), base, std::move(undo), {}, {}, 0, 0, kNever};
    // Whoever returns first must be done before anybody invoked later.
    for (std::size_t i = base; i < part_.steps.size(); ++i) {
      const Step& step = part_.steps[i];
      if (step.invoked > node.latest) break;
      if (passed(i, node.state)) continue;
      if (!step.optional) node.latest = std::min(node.latest, step.returned);
      if (step.phase == Phase::kGet && !done_[step.partner]) continue;
      if (is_needless(i, node.state)) continue;
      if (step.optional && optional_count_ >= most_optional_) {
        left_out_any_ = true;
        continue;
      }
      node.candidates.push_back(i);
    }
    std::erase_if(node.candidates,
                  [&](std::size_t i) { return part_.steps[i].invoked > node.latest; });
    // Tried from the end: what returned first is the likeliest, what had no answer the last.
    std::ranges::sort(node.candidates, [&](std::size_t a, std::size_t b) {
      const Step& first = part_.steps[a];
      const Step& second = part_.steps[b];
      if (first.optional != second.optional) return first.optional;
      return first.returned > second.returned;
    });
    if (done_count_ >= most_done_) {
      most_done_ = done_count_;
      stuck_at_ = node.candidates;
      stuck_in_ = describe(node.state);
    }
    path_.push_back(std::move(node));
  }

  void step_down() {
    Node& node = path_.back();
    if (node.next_way == node.ways.size()) {
      if (node.candidates.empty()) return leave();
      node.trying = node.candidates.back();
      node.candidates.pop_back();
      const Step& step = part_.steps[node.trying];
      node.ways = apply(part_, node.state, step, std::min(node.latest, step.returned));
      node.next_way = 0;
      if (step.optional) {
        leave_out_what_changes_nothing(node, step);
      } else {
        take_what_changes_nothing(node, step);
      }
      return;
    }
    Next next = std::move(node.ways[node.next_way++]);
    const std::size_t base = node.base;
    std::vector<std::size_t> taken{node.trying};
    if (next.decided && part_.steps[node.trying].phase == Phase::kAsk) {
      taken.push_back(part_.steps[node.trying].partner);
    }
    for (const std::size_t i : taken) mark(i, true);
    if (!seen_.insert(configuration(next.state)).second) {
      for (const std::size_t i : taken) mark(i, false);
      return;
    }
    enter(std::move(next.state), base, std::move(taken));
  }

  // A step that may be next, must happen and leaves everything as it is, also the time: whatever
  // can come before it can as well come after it. So nothing else need be tried here.
  static void take_what_changes_nothing(Node& node, const Step& step) {
    const Digest before = digest(node.state);
    const auto same = std::ranges::find_if(node.ways, [&](const Next& way) {
      return (step.phase != Phase::kAsk || way.decided) && digest(way.state) == before;
    });
    if (same == node.ways.end()) return;
    Next only = std::move(*same);
    node.ways.clear();
    node.ways.push_back(std::move(only));
    node.candidates.clear();
  }

  // What need not happen and would change nothing: whatever comes after it can come without it.
  static void leave_out_what_changes_nothing(Node& node, const Step& step) {
    const Digest before = digest(node.state);
    std::vector<Next> ways;
    for (Next& way : node.ways) {
      const bool decided = step.phase != Phase::kAsk || way.decided;
      if (!decided || digest(way.state) != before) ways.push_back(std::move(way));
    }
    node.ways = std::move(ways);
  }

  void leave() {
    for (const std::size_t i : path_.back().undo) mark(i, false);
    path_.pop_back();
  }

  void mark(std::size_t i, bool done) {
    done_[i] = done;
    done_count_ = done ? done_count_ + 1 : done_count_ - 1;
    std::size_t& count = part_.steps[i].optional ? optional_count_ : left_;
    const bool more = done == part_.steps[i].optional;
    count = more ? count + 1 : count - 1;
    set_.a ^= keys_[i].a;
    set_.b ^= keys_[i].b;
  }

  // 128 bits of the set and the state. Two that were taken for one could only make a good history
  // look bad, never a bad one good.
  Digest configuration(const State& state) const {
    Digest sum = digest(state);
    sum.add(set_.a);
    sum.add(set_.b);
    return sum;
  }

  const Part& part_;
  const Limits& limits_;
  const Stopwatch& watch_;
  const std::size_t most_optional_;
  bool left_out_any_ = false;
  std::vector<bool> done_;
  std::vector<Digest> keys_;
  Digest set_;
  std::size_t done_count_ = 0;
  std::size_t left_ = 0;            // that must be done
  std::size_t optional_count_ = 0;  // that need not, and were
  std::vector<Node> path_;
  std::unordered_set<Digest, DigestHash> seen_;
  std::size_t most_done_ = 0;
  std::vector<std::size_t> stuck_at_;
  std::string stuck_in_;
};

// Disjoint sets of small numbers.
class Groups {
 public:
  std::size_t add() {
    up_.push_back(up_.size());
    return up_.size() - 1;
  }
  std::size_t find(std::size_t i) {
    while (up_[i] != i) i = up_[i] = up_[up_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) { up_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> up_;
};

// Two resources can overlap only in one space, and where one's literal names begin the other's.
struct Filed {
  key::Resource resource;
  std::size_t group;
};

void join_overlapping(const std::map<std::string, std::size_t>& texts, Groups& groups) {
  std::map<std::string, std::vector<Filed>> near;
  std::map<std::string, std::vector<Filed>> wide;
  for (const auto& [text, group] : texts) {
    const auto parsed = key::parse(text, {});
    if (!parsed) throw BadHistory("cannot parse " + text);
    const key::Resource& resource = parsed->resource;
    if (resource.text() != text) throw BadHistory(text + " is written " + resource.text());
    if (resource.literal().empty()) {
      wide[resource.space()].push_back({resource, group});
    } else {
      near[resource.space() + " " + resource.literal().front()].push_back({resource, group});
    }
  }
  const auto compare = [&](const std::vector<Filed>& some, const std::vector<Filed>& others) {
    for (const Filed& a : some) {
      for (const Filed& b : others) {
        if (groups.find(a.group) == groups.find(b.group)) continue;
        const auto common = key::overlap(a.resource, b.resource);
        if (!common || common->has_value()) groups.join(a.group, b.group);
      }
    }
  };
  for (const auto& [place, filed] : near) {
    compare(filed, filed);
    const auto above = wide.find(place.substr(0, place.find(' ')));
    if (above != wide.end()) compare(filed, above->second);
  }
  for (const auto& [space, filed] : wide) compare(filed, filed);
}

// The session that all it is a part of are parts of.
std::string outermost(const std::string& owner) {
  core::Owner outer = owner_of(owner);
  while (const auto whole = whole_of(outer)) outer = *whole;
  return outer.session.empty() ? "@" + outer.agent : outer.session;
}

std::string check_part(const std::vector<const Call*>& calls, const History& history,
                       const Limits& limits, const Stopwatch& watch, Verdict& verdict) {
  // A check that was not answered changes nothing and says nothing. Each would double the search.
  std::vector<const Call*> telling = calls;
  std::erase_if(telling, [](const Call* call) {
    return call->asked.verb == Verb::kCheck && (!call->answered() || call->told.word == "unknown");
  });
  const Part part(telling, history);
  verdict.steps += part.steps.size();
  // Of a hundred calls without an answer few have happened in the end.
  std::string farthest;
  for (std::size_t most = kFewOptional;; most *= kMoreOptional) {
    Search search(part, limits, watch, most);
    verdict.outcome = search.run();
    verdict.configurations += search.configurations();
    if (verdict.outcome == Outcome::kLinearizable) return "";
    farthest = search.farthest();
    if (verdict.outcome == Outcome::kUndecided || !search.left_out_any()) break;
  }
  verdict.part = calls;
  if (verdict.outcome == Outcome::kViolated) return farthest;
  return "undecided after " + std::to_string(verdict.configurations) + " configurations; " +
         farthest;
}

}  // namespace

std::vector<std::vector<const Call*>> independent_parts(const History& history) {
  Groups groups;
  std::map<std::string, std::size_t> owners, sessions, texts;
  const auto group_of = [&](std::map<std::string, std::size_t>& known, const std::string& name) {
    const auto found = known.find(name);
    if (found != known.end()) return found->second;
    return known.emplace(name, groups.add()).first->second;
  };
  for (const Call& call : history.calls) {
    const std::size_t owner = group_of(owners, call.owner);
    groups.join(owner, group_of(sessions, outermost(call.owner)));
    for (const Wish& wish : call.asked.wishes) groups.join(owner, group_of(texts, wish.resource));
  }
  // Who names a lease has to do with whom it was granted to.
  std::map<std::string, std::size_t> holders;
  for (const Call& call : history.calls) {
    if (!call.told.lease.empty()) holders[call.told.lease] = owners.at(call.owner);
  }
  for (const Call& call : history.calls) {
    for (const std::string& lease : {call.asked.lease, call.asked.under}) {
      const auto holder = holders.find(lease);
      if (holder != holders.end()) groups.join(owners.at(call.owner), holder->second);
    }
  }
  join_overlapping(texts, groups);
  std::map<std::size_t, std::size_t> index;
  std::vector<std::vector<const Call*>> parts;
  for (const Call& call : history.calls) {
    const std::size_t group = groups.find(owners.at(call.owner));
    const std::size_t at = index.emplace(group, parts.size()).first->second;
    if (at == parts.size()) parts.emplace_back();
    parts[at].push_back(&call);
  }
  return parts;
}

std::string fence_regression(const History& history) {
  std::vector<const Call*> grants, returned;
  std::set<std::pair<std::string, std::string>> known;
  for (const Call& call : history.calls) {
    const std::string& id = call.asked.request_id;
    const bool first = id.empty() || known.emplace(call.owner, id).second;
    if (call.told.fence == 0) continue;
    returned.push_back(&call);
    if (call.told.word == "granted" && first) grants.push_back(&call);
  }
  std::ranges::sort(returned, {}, &Call::returned);
  const Call* highest = nullptr;
  std::size_t next = 0;
  for (const Call* grant : grants) {
    for (; next < returned.size() && returned[next]->returned < grant->invoked; ++next) {
      if (highest == nullptr || returned[next]->told.fence > highest->told.fence) {
        highest = returned[next];
      }
    }
    if (highest != nullptr && grant->told.fence <= highest->told.fence) {
      return "a fence that does not grow:\n  " + return_line(*highest) + "  " + return_line(*grant);
    }
  }
  return "";
}

Verdict check(const History& history, const Limits& limits) {
  const Stopwatch watch(limits.seconds);
  Verdict verdict;
  verdict.why = fence_regression(history);
  if (!verdict.why.empty()) {
    verdict.outcome = Outcome::kViolated;
    return verdict;
  }
  std::vector<std::vector<const Call*>> parts(1);
  for (const Call& call : history.calls) parts[0].push_back(&call);
  if (limits.split) parts = independent_parts(history);
  for (const auto& calls : parts) {
    ++verdict.parts;
    verdict.why = check_part(calls, history, limits, watch, verdict);
    if (verdict.outcome != Outcome::kLinearizable) return verdict;
  }
  return verdict;
}

}  // namespace lockkeeper::linear
