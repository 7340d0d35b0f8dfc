// What the simulator asks of the table, and what came of it: plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/table.h"

namespace lockkeeper::sim {

struct Op {
  enum class Kind {
    kAcquire,
    kPoll,
    kCancel,
    kRelease,
    kReleaseLeases,
    kRenew,
    kCheck,
    kBreak,
    kMaintain,
    kNotices,
    kGiveBack,
    kReport
  };
  Kind kind = Kind::kMaintain;
  core::Owner owner;
  core::AcquireRequest request;  // acquire, check
  std::vector<int> resources;    // release
  std::vector<core::LeaseId> ids;
  std::optional<std::int64_t> ttl_ms;  // renew
  core::Attachment attachment;         // renew, give back
  core::BreakRequest how;
  core::ReportRequest report;
  std::uint64_t fence = 0;  // check
  std::size_t most = 0;     // maintain
};

using Answer =
    std::variant<core::AcquireReply, core::ReleaseReply, std::vector<core::Lease>, core::CheckReply,
                 bool, std::vector<core::LostLease>, core::ReportReply>;

struct Done {
  const Op& op;
  const Answer& answer;
  kv::Version version = 0;  // 0: it wrote nothing
  std::vector<core::Event> events;
  std::vector<std::uint64_t> wake;
  const core::Prober& view;
  bool strict = true;     // false: a process died, or what was only read is old
  bool alone = true;      // nobody else committed meanwhile: what was peeked at is true, too
  kv::Version begun = 0;  // the store's when it began
};

// The store's commit was too small for this.
struct TooLarge {
  const Op& op;
  const Answer& answer;
};

}  // namespace lockkeeper::sim
