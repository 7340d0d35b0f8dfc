#include "plan/worth.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.h"

namespace lockkeeper::plan {
namespace {

constexpr std::size_t kAgentsAtOnce = 3;
constexpr std::int64_t kLongMinutes = 30;
constexpr std::int64_t kQuickMinutes = 5;
constexpr std::size_t kManyChanges = 20;  // the rule says "many"

// The folders that a job works in; not the root, which holds everything.
Result<std::vector<key::Resource>> trees_of(const Job& job) {
  std::set<std::string> folders;
  for (const key::Resource& each : job.writes) {
    std::size_t depth = each.literal().size();
    if (each.kind() == key::Kind::kFile && depth > 0) --depth;
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += each.literal()[i] + "/";
    if (!text.empty()) folders.insert(std::move(text));
  }
  std::vector<key::Resource> trees;
  for (const std::string& folder : folders) {
    LK_ASSIGN(key::Parsed parsed, key::parse(folder, {}, key::Syntax::kLiteral));
    trees.push_back(parsed.resource);
  }
  return trees;
}

struct Trees {
  std::size_t a = 0;
  std::size_t b = 0;
  std::string folder;  // empty: no two that may run at once share a folder
};

Result<Trees> overlapping_trees(const Plan& plan, const Analysis& analysis) {
  std::vector<Want> wants;
  for (std::uint32_t i = 0; i < plan.jobs.size(); ++i) {
    LK_ASSIGN(const std::vector<key::Resource> trees, trees_of(plan.jobs[i]));
    for (const key::Resource& tree : trees) wants.push_back({tree, i, 0});
  }
  Trees found;
  const Closure closure(analysis.needs);
  const auto apart = [&](std::uint32_t a, std::uint32_t b) { return closure.ordered(a, b); };
  LK_CHECK(find_overlaps(wants, apart, [&](const Overlap& overlap) {
    found = {overlap.a->package, overlap.b->package, overlap.witness};
    return false;
  }));
  return found;
}

// The longest job that runs at the same time as another.
std::int64_t longest_beside(const Analysis& analysis) {
  std::vector<Busy> crowded;
  for (const Busy& busy : analysis.busy) {
    if (busy.agents > 1) crowded.push_back(busy);
  }
  std::int64_t longest = 0;
  for (const Slot& slot : analysis.slots) {
    const auto first = std::ranges::upper_bound(crowded, slot.begin, {}, &Busy::end);
    const bool beside = first != crowded.end() && first->begin < slot.end;
    if (beside) longest = std::max(longest, slot.end - slot.begin);
  }
  return longest;
}

std::pair<Worth::Verdict, std::string> decide(const std::vector<WorthRule>& rules, const Plan& plan,
                                              const Analysis& analysis) {
  using Verdict = Worth::Verdict;
  const auto applies = [&](bool for_locking) {
    return std::ranges::any_of(rules, [&](const WorthRule& rule) {
      return rule.applies && rule.for_locking == for_locking;
    });
  };
  if (plan.jobs.size() == 1) return {Verdict::kNo, "there is only one agent"};
  if (analysis.limit == 1) return {Verdict::kNo, "only one agent runs at a time"};
  if (analysis.conflicts.pairs > 0) {
    return {Verdict::kYes, "without locks " + counted(analysis.conflicts.pairs, "pair") +
                               " would change the same things at the same time"};
  }
  if (analysis.most_busy < 2) return {Verdict::kNo, "the agents run one after another"};
  if (!applies(true)) return {Verdict::kNo, "no rule asks for locks"};
  if (!applies(false)) return {Verdict::kYes, "the agents work close to each other"};
  return {Verdict::kEither,
          "some rules ask for locks, others do not; locks cost little and catch agents that stray"};
}

}  // namespace

Result<Worth> is_locking_worth_it(const Plan& plan, const Analysis& analysis) {
  LK_ASSIGN(const Trees trees, overlapping_trees(plan, analysis));
  const bool shared = !trees.folder.empty() || analysis.conflicts.pairs > 0;
  const std::int64_t beside = longest_beside(analysis);
  std::size_t changes = 0;
  std::int64_t longest = 0;
  for (const Job& job : plan.jobs) {
    changes += job.writes.size();
    longest = std::max(longest, job.minutes);
  }
  const std::string at_once = counted(analysis.most_busy, "agent") + " at once";
  const std::string where =
      trees.folder.empty()
          ? std::string("no two that may run at once share a folder")
          : trees.folder + " (" + plan.jobs[trees.a].id + ", " + plan.jobs[trees.b].id + ")";
  Worth worth;
  worth.rules = {
      {"3+ agents running in parallel", true, analysis.most_busy >= kAgentsAtOnce, at_once},
      {"overlapping directory trees", true, shared, where},
      {"long-running parallel tasks (>30 minutes)", true, beside > kLongMinutes,
       std::to_string(beside) + " minutes"},
      {"many file changes", true, changes >= kManyChanges,
       std::to_string(changes) + " files, folders and patterns named"},
      {"sequential execution", false, analysis.most_busy < 2, at_once},
      {"clearly disjoint scopes", false, !shared, where},
      {"single agent", false, plan.jobs.size() == 1, counted(plan.jobs.size(), "agent")},
      {"quick tasks (<5 minutes)", false, longest < kQuickMinutes,
       "the longest takes " + std::to_string(longest) + " minutes"},
  };
  std::tie(worth.verdict, worth.because) = decide(worth.rules, plan, analysis);
  return worth;
}

}  // namespace lockkeeper::plan
