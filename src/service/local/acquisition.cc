#include "service/local/acquisition.h"

#include <algorithm>

#include "base/text.h"
#include "core/foreign.h"

namespace lockkeeper::service::local {
namespace {

constexpr int kForeignFirstMax = 16;       // grants taken back before we give up
constexpr int kVerifiedTriesMax = 4;       // looks at what refused it
constexpr std::size_t kEndedAtOnce = 100;  // to make room in one commit

core::ForeignLock nobody(std::string why) {
  core::ForeignLock lock;
  lock.path = std::move(why);
  lock.owner.agent = "lockkeeper";
  return lock;
}

bool is_grant(core::Outcome outcome) {
  return outcome == core::Outcome::kGranted || outcome == core::Outcome::kRenewed;
}

void take(AcquireResult& result, core::AcquireReply reply) {
  result.existed_before = reply.existed_before || reply.outcome == core::Outcome::kRenewed;
  result.outcome = reply.outcome;
  result.lease = std::move(reply.lease);
  result.conflicts = std::move(reply.conflicts);
  result.elsewhere = std::move(reply.elsewhere);
  result.cycle = std::move(reply.cycle);
  result.position = reply.position;
  result.reason_before = std::move(reply.reason_before);
}

std::unexpected<Error> too_much_to_clear() {
  return fail(Code::kStoreBusy, "the table has too much to clear", "try again");
}

}  // namespace

Result<Acquisition::Results> Acquisition::begin(const Write& write) {
  write_ = &write;
  LK_CHECK(mirror_.open_to_write());
  return decide_and_publish();
}

Result<Acquisition::Results> Acquisition::decide_and_publish() {
  for (; tries_ < kForeignFirstMax; ++tries_) {
    const auto decided = decide();
    if (!decided) {
      mirror_.discard_unrecorded();
      return fail(decided.error());
    }
    if (waiting_) return results();
    LK_ASSIGN(const bool published, publish_all());
    if (published) return results();
    // Another tool was there first; it is in the table now, so asking again names it.
  }
  return fail(Code::kStoreBusy,
              "other tools took and left it " + std::to_string(kForeignFirstMax) +
                  " times while this was being decided",
              "try again");
}

Acquisition::Results Acquisition::results() const {
  Results results;
  for (const Part& part : parts_) results.push_back(part.result);
  return results;
}

Result<Acquisition::Results> Acquisition::resume(core::AcquireReply queued) {
  LK_CHECK(mirror_.open_to_write());
  Part& part = parts_.front();
  waiting_.emplace(table_, std::move(queued), part.request.wake, mirror_);
  take(part.result, waiting_->reply());
  return results();
}

Result<Acquisition::Results> Acquisition::await(const Write& write, std::int64_t at_most_ms,
                                                bool looks) {
  write_ = &write;
  LK_ASSIGN(const bool queued, waiting_->run(at_most_ms, looks));
  take(parts_.front().result, waiting_->reply());
  if (queued) return results();
  return publish_waited();
}

// It has left the queue. If another tool was first, it asks again.
Result<Acquisition::Results> Acquisition::publish_waited() {
  waiting_.reset();
  LK_ASSIGN(const bool published, publish_all());
  if (published) return results();
  ++tries_;
  return decide_and_publish();
}

AcquireResult Acquisition::last_look() const {
  AcquireResult result;
  take(result, waiting_->reply());
  return result;
}

Result<Acquisition::Results> Acquisition::leave(const Write& write, core::Outcome why) {
  write_ = &write;
  Part& part = parts_.front();
  LK_CHECK(waiting_->leave(why, write));
  take(part.result, waiting_->reply());
  part.request.wait = false;
  LK_ASSIGN(Results left, publish_waited());
  if (left.front().outcome == core::Outcome::kHeld) left.front().outcome = why;
  return left;
}

// One commit has room for several requests only if nothing else is left to do.
Result<void> Acquisition::clear_the_way() {
  LK_CHECK(table_.write([](core::Table& table) { return table.maintain(kEndedAtOnce); }));
  if (!mirror_.any()) return {};
  LK_CHECK(table_.write([&](core::Table& table) { return mirror_.apply(table); }));
  return mirror_.show_missing_again();
}

// One decision of the table, with the queue if the one part waits.
Result<void> Acquisition::decide() {
  std::vector<core::Claim> wanted;
  for (const Part& part : parts_) {
    wanted.insert(wanted.end(), part.request.claims.begin(), part.request.claims.end());
  }
  LK_CHECK(mirror_.scan(wanted, true));
  LK_CHECK(mirror_.bring_in());
  if (together()) LK_CHECK(clear_the_way());
  for (int tries = 0;; ++tries) {
    LK_CHECK(decide_once());
    const bool refused = std::ranges::any_of(replies_, [](const core::AcquireReply& reply) {
      return !is_grant(reply.outcome) && !reply.conflicts.empty();
    });
    if (!mirror_.any() || !refused || tries == kVerifiedTriesMax) break;
    const auto changed = conflicts_changed();
    // Whoever waits looks for itself, and knows how to leave.
    if (replies_.front().outcome == core::Outcome::kQueued) break;
    if (!changed) return fail(changed.error());
    if (!*changed) break;
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    if (replies_[i].outcome == core::Outcome::kQueued) {
      waiting_.emplace(table_, replies_[i], part.request.wake, mirror_);
    }
    take(part.result, std::move(replies_[i]));
  }
  return {};
}

Result<void> Acquisition::decide_once() {
  const auto version = (*write_)([&](core::Table& table) { return decide_in(table); }, {});
  // An error drops the transaction. One of several was refused, so none is granted.
  const bool none = !version && together() && version.error().code == Code::kHeld;
  if (!version) mirror_.discard_unrecorded();
  if (!version && !none) return fail(version.error());
  for (core::AcquireReply& reply : replies_) {
    if (version) reply.stamp(*version);
    if (none && is_grant(reply.outcome)) reply.outcome = core::Outcome::kHeld;
  }
  return {};
}

Result<bool> Acquisition::decide_in(core::Table& table) {
  LK_CHECK(mirror_.discard_unrecorded(table.state()));
  replies_.clear();
  LK_ASSIGN(const bool more, mirror_.apply(table));
  if (more) return true;
  bool all = true;
  for (const Part& part : parts_) {
    LK_ASSIGN(core::AcquireReply reply, table.acquire(part.request));
    if (reply.again && together()) return too_much_to_clear();
    if (reply.again) return true;
    if (is_grant(reply.outcome)) LK_CHECK(record_grant(table, part, reply));
    all &= is_grant(reply.outcome);
    replies_.push_back(std::move(reply));
  }
  if (together()) return all ? Result<bool>(false) : fail(Code::kHeld, "");
  return false;
}

// In the granting commit: what it replaces ends, and how it is shown is recorded.
Result<void> Acquisition::record_grant(core::Table& table, const Part& part,
                                       const core::AcquireReply& reply) {
  std::vector<core::LeaseId> replaced = part.replaces;
  std::erase(replaced, reply.lease.id);
  if (!replaced.empty()) LK_CHECK(table.release_leases(reply.lease.owner, replaced));
  return mirror_.record(table, reply.lease.id);
}

// True: what stood in the way has changed on disk, and the table knows.
Result<bool> Acquisition::conflicts_changed() {
  std::vector<core::Conflict> conflicts;
  for (const core::AcquireReply& reply : replies_) {
    conflicts.insert(conflicts.end(), reply.conflicts.begin(), reply.conflicts.end());
  }
  LK_ASSIGN(const bool changed, mirror_.verify(conflicts));
  if (!changed) return false;
  LK_CHECK(mirror_.bring_in());
  LK_CHECK(table_.write([&](core::Table& table) { return mirror_.apply(table); }));
  LK_CHECK(mirror_.show_missing_again());
  return true;
}

// All of them, or what was granted now is taken back. False: another tool was there first.
Result<bool> Acquisition::publish_all() {
  bool stand = true;
  std::optional<Error> trouble;
  for (Part& part : parts_) {
    if (!stand) break;
    const auto stands = publish(part.result);
    if (!stands) trouble = stands.error();
    stand = stands && *stands;
  }
  if (stand) return true;
  if (together()) {
    for (const Part& part : parts_) {
      if (part.result.existed_before) continue;
      LK_CHECK(mirror_.withdraw(part.result.lease.id, nobody("another of the batch")));
    }
    static_cast<void>(mirror_.clean());
  }
  if (trouble) return fail(std::move(*trouble));
  return false;
}

// After the commit. False: the grant was taken back, because another tool was there first.
Result<bool> Acquisition::publish(AcquireResult& result) {
  if (!is_grant(result.outcome)) {
    if (!mirror_.any()) return true;
    LK_CHECK(mirror_.show_missing_again());
    LK_CHECK(mirror_.clean());
    return true;
  }
  auto first = mirror_.publish(result.lease, !result.existed_before);
  const bool stands = first && !*first;
  if (stands && !mirror_.any()) return true;
  // What its holder was told before is not taken back: that another tool came later is on record.
  if (!stands && !result.existed_before) {
    LK_CHECK(take_back(result, first ? **first : nobody(first.error().message)));
    if (!first) return fail(std::move(first.error()));
    return false;
  }
  result.unmirrored = mirror_.unmirrored(result.lease);
  // The lease stands whatever comes of the rest, which whoever comes next tries again.
  if (result.existed_before) static_cast<void>(mirror_.refresh({result.lease}));
  static_cast<void>(mirror_.show_missing_again());
  static_cast<void>(mirror_.clean());
  return true;
}

Result<void> Acquisition::take_back(const AcquireResult& result, const core::ForeignLock& first) {
  if (const auto taken_back = mirror_.withdraw(result.lease.id, first); !taken_back) {
    // It stands in the table, and nobody can say for how long: neither yes nor no (I9).
    return fail(Code::kUnknown,
                "it was granted, then " + first.path +
                    ", and could not be taken back: " + taken_back.error().message,
                "see whether you hold it: lockkeeper list");
  }
  static_cast<void>(mirror_.show_missing_again());
  static_cast<void>(mirror_.clean());
  return {};
}

Result<AcquireResult> Acquisition::take_over(const Write& write,
                                             const std::vector<Foreign>& artefacts) {
  LK_CHECK(mirror_.open_to_write());
  Part& part = parts_.front();
  const core::KnownForeign& named = artefacts.front().known;
  const core::EndedBy adopted{"ended", "adopted", part.request.terms.reason, part.request.owner};
  core::AcquireReply reply;
  const auto version = write(
      [&](core::Table& table) -> Result<bool> {
        LK_CHECK(mirror_.discard_unrecorded(table.state()));
        for (const Foreign& each : artefacts) {
          LK_CHECK(core::end_foreign(table, each.known, adopted));
        }
        // Its source was read before; if it stays another's after all, it must be read again.
        LK_CHECK(core::put_layout_stamps(table.state(), named.layout, ""));
        LK_ASSIGN(reply, table.acquire(part.request));
        if (reply.again) return too_much_to_clear();
        if (!is_grant(reply.outcome)) {
          return fail(Code::kHeld, "others hold some of what " + quote(named.artefact) + " covers",
                      "see: lockkeeper list");
        }
        LK_CHECK(mirror_.record(table, reply.lease.id));
        return false;
      },
      {});
  if (!version) {
    mirror_.discard_unrecorded();
    return fail(version.error());
  }
  reply.stamp(*version);
  for (const Foreign& each : artefacts) {
    mirror_.may_replace(each.known.layout, each.known.artefact, each.identity);
  }
  part.result.outcome = core::Outcome::kGranted;
  part.result.lease = std::move(reply.lease);
  LK_ASSIGN(const bool stands, publish(part.result));
  if (!stands) {
    return fail(Code::kHeld, quote(named.artefact) + " changed hands while it was adopted",
                "try again");
  }
  remove_taken_over(artefacts);
  return std::move(part.result);
}

// What the new lease did not replace. Left there, it would be the former holder's lock again.
void Acquisition::remove_taken_over(const std::vector<Foreign>& artefacts) {
  for (const Foreign& each : artefacts) {
    layout::Layout* const layout = mirror_.find(each.known.layout);
    if (layout == nullptr) continue;
    const layout::Artefacts shown = layout->artefacts(parts_.front().result.lease);
    const bool replaced = std::ranges::find(shown.names, each.known.artefact) != shown.names.end();
    if (!replaced) static_cast<void>(layout->remove(each.known.artefact, each.identity));
  }
}

}  // namespace lockkeeper::service::local
