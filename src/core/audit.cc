#include "core/audit.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/bytes.h"
#include "core/audit_layouts.h"
#include "core/conflicts.h"
#include "core/settle.h"

namespace lockkeeper::core {
namespace {

using kv::Read;

// Which row a lease or a waiter must have. Found by the hash of its key.
struct Expected {
  LeaseId id;
  const char* what;
};

class Audit {
 public:
  Audit(kv::Txn& txn, const Context& context, AuditScope scope)
      : txn_(txn), context_(context), scope_(scope), shared_(txn.left().guards != SIZE_MAX) {}

  Result<std::vector<std::string>> run() {
    LK_CHECK(collect_due());
    LK_CHECK(leases());
    LK_CHECK(waiters());
    LK_CHECK(claims());
    LK_CHECK(links());
    LK_CHECK(remembered());
    LK_CHECK(due_rows());
    for (const auto& [hash, row] : expected_) {
      say(name_of(row.id) + " has no " + row.what + " row");
    }
    LK_CHECK(counters());
    LK_CHECK(audit_layouts(txn_, [&](std::string problem) { say(std::move(problem)); }));
    if (scope_.history) LK_CHECK(history());
    return std::move(problems_);
  }

 private:
  void say(std::string problem) {
    if (problems_.size() < scope_.problems_max) problems_.push_back(std::move(problem));
  }

  static std::string name_of(const LeaseId& id) { return "lease or waiter " + id.text(); }

  Result<void> each(const kv::Range& range, const kv::Txn::Visit& visit) {
    return txn_.scan(range, visit, Read::kPeek);
  }

  Result<bool> exists(const std::string& key) {
    LK_ASSIGN(const std::optional<kv::Row> row, txn_.get(key, Read::kPeek));
    return row.has_value();
  }

  bool handoff_to_come(const LeaseId& id) const {
    return handoffs_.contains(std::string(id.bytes));
  }

  void expect(const std::string& key, const LeaseId& id, const char* what) {
    expected_.emplace(hash64(key), Expected{id, what});
  }

  // True: some lease or waiter must have this row. It is then crossed off.
  bool claimed(std::string_view key) { return expected_.erase(hash64(key)) != 0; }

  // Which subjects have a due row of which kind; the rows themselves are judged later.
  Result<void> each_due(const kv::Txn::Visit& visit) {
    LK_CHECK(each(kv::prefix_range(kDuePrefix), visit));
    return each(kv::prefix_range(kClockedDuePrefix), visit);
  }

  Result<void> collect_due() {
    return each_due([&](const kv::Row& row) {
      const std::optional<DueRow> due = read_due_key(row.key);
      if (!due) {
        say("a due row cannot be read");
        return true;
      }
      std::string subject(due->subject);
      if (due->what == Due::kHandoff) {
        handoffs_.insert(std::move(subject));
      } else if (due->what != Due::kLease) {
        to_forget_.insert(static_cast<char>(due->what) + subject);
      }
      return true;
    });
  }

  void expect_rows(Holding holding, const Lease& lease) {
    for (const Claim& claim : lease.claims) {
      expect(claim_key(holding, claim.mode, key::Place(claim.resource), lease.id, claim.slot),
             lease.id, "claim");
    }
    if (!lease.parent.empty()) expect(child_key(lease.parent, lease.id), lease.id, "child");
    if (lease.claims.empty()) say(name_of(lease.id) + " claims nothing");
    if (owner_tag(lease.owner) != lease.id.bytes.first(8)) {
      say(name_of(lease.id) + " lies under another owner than its own");
    }
  }

  Result<void> leases() {
    std::vector<Lease> page;
    std::string from = "l";
    const std::string to = "m";
    do {
      LK_ASSIGN(page, next_leases(from, to));
      for (const Lease& lease : page) {
        LK_CHECK(check(lease));
      }
    } while (!page.empty());
    return {};
  }

  // Records are read one page at a time, because nothing else may be read during a scan.
  Result<std::vector<Lease>> next_leases(std::string& from, const std::string& to) {
    constexpr std::size_t kPage = 256;
    std::vector<Lease> page;
    LK_CHECK(each({from, to}, [&](const kv::Row& row) {
      from.assign(row.key).push_back('\0');
      if (row.key.size() == 5) return true;  // an agent's counter
      const LeaseId id{std::string(row.key.substr(1))};
      auto lease = decode_lease(id, row.value, row.created);
      if (lease) {
        page.push_back(std::move(*lease));
      } else {
        say("lease " + id.text() + " cannot be read: " + lease.error().message);
      }
      return page.size() < kPage;
    }));
    return page;
  }

  Result<void> check(const Lease& lease) {
    const std::string name = "lease " + lease.id.text();
    expect_rows(Holding::kLease, lease);
    expect(due_key_of(lease), lease.id, "due");
    if (due_of(lease) != lease.due_mono_ms) say(name + " is not filed under its own due time");
    if (lease.epoch > context_.epoch.id) say(name + " is from an epoch to come");
    if (!lease.foreign) count(lease);
    if (!lease.parent.empty()) {
      LK_ASSIGN(const bool has_parent, exists(lease_key(lease.parent)));
      if (!has_parent && !handoff_to_come(lease.parent)) say(name + " outlives its parent");
    }
    if (!scope_.exclusion) return {};
    LK_ASSIGN(const Above above, leases_above(lease));
    if (!above.complete) return {};
    return exclusion(lease);
  }

  // Of two resources that overlap, one is filed at an ancestor of the other or at the same place.
  // So it is enough that each looks upwards.
  Result<void> exclusion(const Lease& lease) {
    for (const Claim& claim : lease.claims) {
      const key::Place place(claim.resource);
      const std::string_view whole = place.space_and_segments;
      std::vector<std::size_t> ends = place.ancestor_ends;
      ends.push_back(whole.size());
      for (const std::size_t end : ends) {
        LK_CHECK(exclusion_at(lease, claim, whole.substr(0, end), Mode::kExclusive));
        if (claim.mode == Mode::kExclusive) {
          LK_CHECK(exclusion_at(lease, claim, whole.substr(0, end), Mode::kShared));
        }
      }
    }
    return {};
  }

  Result<void> exclusion_at(const Lease& lease, const Claim& claim, std::string_view place,
                            Mode mode) {
    std::vector<std::pair<LeaseId, std::string>> rows;
    LK_CHECK(each(exactly_at(Holding::kLease, mode, place), [&](const kv::Row& row) {
      LeaseId id = id_in_claim_key(row.key);
      if (id != lease.id) rows.emplace_back(std::move(id), std::string(row.value));
      return true;
    }));
    for (const auto& [id, value] : rows) {
      const auto resource = decode_claim(value);
      if (!resource) continue;  // reported when the claims are read
      LK_ASSIGN(const std::optional<std::string> common, key::overlap(claim.resource, *resource));
      if (!common) continue;
      LK_ASSIGN(const bool allowed, may_both_hold(lease, id));
      if (allowed) continue;
      say("I1: leases " + lease.id.text() + " (" + claim.resource.text() + ") and " + id.text() +
          " (" + resource->text() + ") both hold " + *common);
    }
    return {};
  }

  Result<bool> may_both_hold(const Lease& lease, const LeaseId& other_id) {
    LK_ASSIGN(const std::optional<Lease> other, lease_of(other_id));
    if (!other) return true;  // a claim without a lease: reported elsewhere
    // What another tool takes is recorded, not prevented.
    if (other->foreign || lease.foreign) return true;
    if (other->owner == lease.owner || !worktrees_meet(lease, *other)) return true;
    LK_ASSIGN(const Above above_other, leases_above(*other));
    if (!above_other.complete || above_other.side.has(lease)) return true;
    LK_ASSIGN(const Above above, leases_above(lease));
    return above.side.has(*other);
  }

  Result<std::optional<Lease>> lease_of(const LeaseId& id) {
    LK_ASSIGN(const std::optional<kv::Row> row, txn_.get(lease_key(id), Read::kPeek));
    if (!row) return std::nullopt;
    auto lease = decode_lease(id, row->value, row->created);
    if (!lease) return std::nullopt;
    return std::move(*lease);
  }

  // Incomplete: one of them is gone. Then what lies below it counts for nobody any more, and the
  // handoff to come ends it.
  struct Above {
    Side side;
    bool complete = true;
  };
  Result<Above> leases_above(Lease lease) {
    Above above{{{lease.owner}, {}}};
    while (!lease.parent.empty() && above.side.parents.insert(lease.parent).second) {
      LK_ASSIGN(std::optional<Lease> parent, lease_of(lease.parent));
      above.complete = parent.has_value();
      if (!parent) break;
      lease = std::move(*parent);
      above.side.owners.push_back(lease.owner);
    }
    return above;
  }

  Result<void> waiters() {
    std::vector<Waiter> all;
    LK_CHECK(each(kv::prefix_range("w"), [&](const kv::Row& row) {
      const LeaseId id{std::string(row.key.substr(1))};
      auto waiter = decode_waiter(id, row.value, row.created);
      if (waiter) {
        all.push_back(std::move(*waiter));
      } else {
        say("waiter " + id.text() + " cannot be read: " + waiter.error().message);
      }
      return true;
    }));
    for (const Waiter& waiter : all) LK_CHECK(check(waiter));
    return {};
  }

  Result<void> check(const Waiter& waiter) {
    const Lease& request = waiter.request;
    const std::string name = "waiter " + request.id.text();
    expect_rows(Holding::kWaiter, request);
    expect(blocked_key(waiter.blocker, request.id), request.id, "blocked");
    for (const std::string& whole : waiter.wholes) {
      expect(part_key(whole, request.id), request.id, "part");
    }
    for (const std::string& whole : wholes_of(request.owner)) {
      const bool listed = std::ranges::find(waiter.wholes, whole) != waiter.wholes.end();
      if (!listed) say(std::string(name).append(" is not filed under its session ").append(whole));
    }
    count(request);
    if (!request.attached()) say(name + " is bound to no process");
    LK_ASSIGN(const bool twice, exists(lease_key(request.id)));
    if (twice) say(name + " is a lease too");
    if (!request.parent.empty()) {
      LK_ASSIGN(const bool has_parent, exists(lease_key(request.parent)));
      if (!has_parent && !handoff_to_come(request.parent)) say(name + " outlives its parent");
    }
    if (handoff_to_come(waiter.blocker)) return {};
    LK_ASSIGN(std::optional<Lease> blocker, lease_of(waiter.blocker));
    if (!blocker) {
      LK_ASSIGN(const std::optional<kv::Row> row,
                txn_.get(waiter_key(waiter.blocker), Read::kPeek));
      if (row) {
        auto other = decode_waiter(waiter.blocker, row->value, row->created);
        if (other) blocker = std::move(other->request);
      }
    }
    if (!blocker) {
      say(name + " is filed under " + waiter.blocker.text() + ", which does not exist");
      return {};
    }
    LK_ASSIGN(const bool in_the_way, claims_conflict(request, *blocker));
    if (!in_the_way) {
      say(name + " is filed under " + waiter.blocker.text() + ", which does not conflict with it");
    }
    return {};
  }

  Result<void> claims() {
    for (const char* letter : {"x", "s", "X", "S"}) {
      LK_CHECK(each(kv::prefix_range(letter), [&](const kv::Row& row) {
        const auto resource = decode_claim(row.value);
        if (!resource) say("a claim cannot be read: " + resource.error().message);
        if (!claimed(row.key)) {
          say("a claim on " + (resource ? resource->text() : "?") + " belongs to no lease or " +
              "waiter that has it: " + to_hex(row.key));
        }
        return true;
      }));
    }
    return {};
  }

  Result<void> links() {
    for (const char* letter : {"b", "c", "v"}) {
      LK_CHECK(each(kv::prefix_range(letter), [&](const kv::Row& row) {
        if (!claimed(row.key)) say("a row points to nothing: " + to_hex(row.key));
        return true;
      }));
    }
    return {};
  }

  // Request ids, lost leases and refusals: each must be forgotten some day.
  Result<void> remembered() {
    LK_CHECK(each(kv::prefix_range("d"), [&](const kv::Row& row) {
      const auto lost = decode_lost(LeaseId{row.key.substr(1)}, row.value);
      if (!lost) say("a lost lease cannot be read: " + to_hex(row.key));
      if (!to_forget_.contains(std::string(row.key))) {
        say("a lost lease will never be forgotten: " + to_hex(row.key));
      }
      return true;
    }));
    LK_CHECK(each(kv::prefix_range("g"), [&](const kv::Row& row) {
      if (!to_forget_.contains(std::string(row.key))) {
        say("a refusal will never be forgotten: " + to_hex(row.key));
      }
      return true;
    }));
    LK_CHECK(each(kv::prefix_range("h"), [&](const kv::Row& row) {
      if (!decode_activity(row.value)) say("a record of calls cannot be read: " + to_hex(row.key));
      if (!to_forget_.contains(std::string(row.key))) {
        say("a record of calls will never be forgotten: " + to_hex(row.key));
      }
      return true;
    }));
    LK_CHECK(each(kv::prefix_range(kTracePrefix), [&](const kv::Row& row) {
      if (!decode_trace(row.value)) say("a trace cannot be read: " + to_hex(row.key));
      if (!to_forget_.contains(std::string(row.key))) {
        say("a trace will never be forgotten: " + to_hex(row.key));
      }
      return true;
    }));
    std::vector<std::pair<std::string, LeaseId>> lasting;
    LK_CHECK(each(kv::prefix_range("r"), [&](const kv::Row& row) {
      const auto request = decode_request(row.value);
      if (!request) {
        say("a request id cannot be read: " + to_hex(row.key));
      } else if (!to_forget_.contains(std::string(row.key))) {
        lasting.emplace_back(row.key, request->lease);
      }
      return true;
    }));
    for (const auto& [key, id] : lasting) {
      LK_ASSIGN(const bool lease, exists(lease_key(id)));
      LK_ASSIGN(const bool waiter, exists(waiter_key(id)));
      if (!lease && !waiter) say("a request id will never be forgotten: " + to_hex(key));
    }
    return {};
  }

  Result<void> due_rows() {
    std::vector<std::string> subjects;
    LK_CHECK(each_due([&](const kv::Row& row) {
      const std::optional<DueRow> due = read_due_key(row.key);
      if (!due) return true;
      const std::string subject = static_cast<char>(due->what) + std::string(due->subject);
      switch (due->what) {
        case Due::kLease:
          if (!claimed(row.key)) say("a due row points to no lease: " + to_hex(row.key));
          break;
        case Due::kLost:
          if (!shared_) subjects.push_back(subject);  // otherwise it may have vanished by itself
          break;
        case Due::kActivity:
        case Due::kAnswer:
        case Due::kRequest:
          subjects.push_back(subject);
          break;
        case Due::kHandoff:  // of something that is gone, by its nature
        case Due::kRefusal:  // two refusals at the same time may leave two
        case Due::kTrace:    // forgotten before its time, when its change was committed
          break;
        default:
          say("a due row of an unknown kind: " + to_hex(row.key));
      }
      return true;
    }));
    for (const std::string& key : subjects) {
      LK_ASSIGN(const bool there, exists(key));
      if (!there) say("a due row points to nothing: " + to_hex(key));
    }
    return {};
  }

  // One counter for each agent, or one for each session: see counter_key().
  Result<void> counters() {
    constexpr std::size_t kAgentCounterBytes = 5;
    const char* const kind = shared_ ? "session tag " : "agent tag ";
    const auto look = [&](const kv::Row& row) {
      if (row.key[0] == 'l' && row.key.size() != kAgentCounterBytes) return true;
      const std::string tag(row.key.substr(1));
      const auto count = decode_counter(row.value);
      if (!count || *count != counts_[tag]) {
        say("the counter of " + (kind + to_hex(tag)) + " says " +
            std::to_string(count.value_or(0)) + " claims, its leases and waiters have " +
            std::to_string(counts_[tag]));
      }
      counts_.erase(tag);
      return true;
    };
    LK_CHECK(each({"l", "m"}, look));
    LK_CHECK(each({"q", "r"}, look));
    for (const auto& [tag, count] : counts_) {
      say((kind + to_hex(tag)) + " has " + std::to_string(count) + " claims and has no counter");
    }
    return {};
  }

  void count(const Lease& lease) {
    counts_[std::string(lease.id.bytes.first(shared_ ? 8 : 4))] += lease.claims.size();
  }

  Result<void> history() {
    LK_CHECK(txn_.scan_appended(kEventPrefix, 0, [&](const kv::Appended& row) {
      if (!decode_event(row)) say("an event cannot be read: " + to_hex(row.key));
      return true;
    }));
    LK_ASSIGN(const std::optional<kv::Row> row, txn_.get(kHistoryKey, Read::kPeek));
    if (row && !decode_history_count(row->value)) say("the count of events cannot be read");
    return {};
  }

  kv::Txn& txn_;
  const Context& context_;
  const AuditScope scope_;
  std::vector<std::string> problems_;
  std::unordered_set<std::string> handoffs_;   // ids whose followers are still to be evaluated
  std::unordered_set<std::string> to_forget_;  // keys of rows that a due row will erase
  std::unordered_map<std::uint64_t, Expected> expected_;
  const bool shared_;                                    // others may write at the same time
  std::unordered_map<std::string, std::size_t> counts_;  // claims by tag
};

}  // namespace

Result<std::vector<std::string>> audit(kv::Txn& txn, const Context& context, AuditScope scope) {
  return Audit(txn, context, scope).run();
}

}  // namespace lockkeeper::core
