#include "chaos/ledger.h"

#include <time.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace lockkeeper::chaos {
namespace {

constexpr std::size_t kOpen = SIZE_MAX;
// A shell reads the time in hundredths of a second, rounded down.
constexpr std::int64_t kTickMs = 10;

struct Hold {
  std::string name;
  std::string worker;
  const Scope* scope = nullptr;
  std::uint64_t fence = 0;
  char kind = 'a';
  bool timed = false;  // it may be over by its length
  bool given_back = false;
  bool sure = false;
  std::int64_t began_ms = 0;
  std::int64_t until_ms = 0;
  std::size_t begin = 0;  // lines
  std::size_t end = kOpen;

  // Held all the time between its two lines.
  bool by_order() const { return !timed || sure; }
};

std::string text(const Hold& hold) {
  return hold.name + " (" + hold.scope->name + ", fence " + std::to_string(hold.fence) + ")";
}

// And not both are shared.
bool cover_one_name(const Scope& a, const Scope& b) {
  if (a.shared && b.shared) return false;
  return std::any_of(a.witnesses.begin(), a.witnesses.end(),
                     [&](const std::string& name) { return b.witnesses.contains(name); });
}

class Judge {
 public:
  explicit Judge(const std::string& ledger) {
    std::istringstream lines(ledger);
    for (std::string line; std::getline(lines, line); ++line_) read(line);
  }

  Verdict verdict() {
    for (auto later = holds_.begin(); later != holds_.end(); ++later) {
      ++verdict_.holds;
      if (later->by_order()) ++verdict_.sure;
      verdict_.told[later->name] = {later->kind, later->fence, later->given_back,
                                    killed_.contains(later->worker)};
      for (auto earlier = holds_.begin(); earlier != later; ++earlier) compare(*earlier, *later);
    }
    return std::move(verdict_);
  }

 private:
  void accuse(const std::string& what) { verdict_.violations.push_back(what); }

  void read(const std::string& line) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind >> name;
    if (kind == "B") {
      begin(name, words);
    } else if (kind == "E" || kind == "S") {
      const auto found = index_.find(name);
      if (found == index_.end()) return;  // it began after its worker was killed
      Hold& hold = holds_[found->second];
      if (kind == "E") hold.end = std::min(hold.end, line_);
      if (kind == "E") hold.given_back = true;
      if (kind == "S") hold.sure = true;
    } else if (kind == "K") {
      killed_.insert(name);
      for (Hold& hold : holds_) {
        if (hold.worker == name && hold.kind != 'd') hold.end = std::min(hold.end, line_);
      }
    } else {
      accuse("line " + std::to_string(line_ + 1) + ": " + line);
    }
  }

  void begin(const std::string& name, std::istringstream& words) {
    Hold hold;
    hold.name = name;
    hold.worker = name.substr(0, name.rfind('.'));
    std::string scope, kind;
    words >> scope >> hold.fence >> kind >> hold.began_ms >> hold.until_ms;
    hold.scope = scope_named(scope);
    hold.kind = kind.empty() ? '?' : kind.front();
    hold.timed = kind == "d" || kind == "b";
    hold.begin = line_;
    if (!words || hold.scope == nullptr || !std::string("ardb").contains(hold.kind))
      return accuse("a line that nobody wrote: B " + name);
    // Its process is as good as dead and does no more work.
    if (killed_.contains(hold.worker)) return;
    index_[name] = holds_.size();
    holds_.push_back(hold);
  }

  void compare(const Hold& earlier, const Hold& later) {
    if (!conflict(*earlier.scope, *later.scope)) return;
    if (later.fence <= earlier.fence && later.by_order() && earlier.by_order()) {
      accuse("I3: " + text(later) + " came after " + text(earlier));
    }
    bool together = false;
    if (earlier.by_order()) {
      together = later.by_order() && later.begin < earlier.end;
    } else {
      const bool was_held = later.by_order() || later.began_ms < later.until_ms;
      together =
          was_held && later.begin < earlier.end && later.began_ms + kTickMs < earlier.until_ms;
    }
    if (together) accuse("I1: " + text(earlier) + " and " + text(later) + " at the same time");
  }

  std::size_t line_ = 0;
  std::vector<Hold> holds_;
  std::map<std::string, std::size_t> index_;
  std::set<std::string> killed_;
  Verdict verdict_;
};

}  // namespace

const std::vector<Scope>& scopes() {
  static const std::vector<Scope> all{
      {"one", {"a/1"}, {"a1"}},
      {"other", {"b/2"}, {"b2"}},
      {"folder", {"a/"}, {"a1", "a2"}},
      {"glob", {"*/1"}, {"a1", "b1"}},
      {"several", {"b/1", "a/2", "db:schema:users"}, {"b1", "a2", "users"}},
      {"deep", {"**/2"}, {"a2", "b2"}},
      {"both", {"b/", "db:schema:users"}, {"b1", "b2", "users"}},
      {"readers", {"a/", "b/1"}, {"a1", "a2", "b1"}, true},
  };
  return all;
}

const Scope* scope_named(const std::string& name) {
  for (const Scope& scope : scopes()) {
    if (scope.name == name) return &scope;
  }
  return nullptr;
}

bool conflict(const Scope& a, const Scope& b) {
  using Pairs = std::set<std::pair<const Scope*, const Scope*>>;
  // Asked for every pair of holds: decided once for the scopes that there are.
  static const Pairs known = [] {
    Pairs pairs;
    for (const Scope& one : scopes()) {
      for (const Scope& other : scopes()) {
        if (cover_one_name(one, other)) pairs.emplace(&one, &other);
      }
    }
    return pairs;
  }();
  return known.contains({&a, &b});
}

Verdict judge_ledger(const std::string& ledger) {
  return Judge(ledger).verdict();
}

std::int64_t boot_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace lockkeeper::chaos
