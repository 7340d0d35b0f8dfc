#include "hub/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "service/report.h"

namespace lockkeeper::hub {
namespace {

constexpr std::size_t kFollowedMax = 100'000;  // leases whose beginning is remembered

// Each of them is shown from the start, with 0: a rate needs a first value.
constexpr std::initializer_list<core::Outcome> kOutcomes = {
    core::Outcome::kGranted,    core::Outcome::kRenewed,  core::Outcome::kHeld,
    core::Outcome::kQueued,     core::Outcome::kDeadlock, core::Outcome::kTimeout,
    core::Outcome::kInterrupted};
constexpr std::initializer_list<const char*> kEnds = {"released", "expired", "broken", "ended",
                                                      "withdrawn"};

void family(std::string& out, const char* name, const char* help, const char* type) {
  out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void counters(std::string& out, const char* name, const char* help, const char* label,
              const std::map<std::string, std::uint64_t>& values) {
  family(out, name, help, "counter");
  for (const auto& [value, count] : values) {
    out += fmt::format("{}{{{}=\"{}\"}} {}\n", name, label, value, count);
  }
}

template <class Number>
void gauge(std::string& out, const char* name, const char* help, Number value) {
  family(out, name, help, "gauge");
  out += fmt::format("{} {}\n", name, value);
}

}  // namespace

void Metrics::Histogram::add(double seconds) {
  const auto bound = std::ranges::lower_bound(kBounds, seconds);
  ++counts[static_cast<std::size_t>(bound - kBounds.begin())];
  sum += seconds;
}

void Metrics::write(std::string& out, const char* name, const char* help, const Histogram& all) {
  family(out, name, help, "histogram");
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    count += all.counts[i];
    out += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, kBounds[i], count);
  }
  count += all.counts.back();
  out += fmt::format("{}_bucket{{le=\"+Inf\"}} {}\n{}_sum {}\n{}_count {}\n", name, count, name,
                     all.sum, name, count);
}

void Metrics::answered(core::Outcome outcome) {
  const std::lock_guard hold(mutex_);
  ++requests_[service::outcome_name(outcome)];
}

void Metrics::happened(const core::Event& event) {
  const std::lock_guard hold(mutex_);
  const auto since = [&](std::map<core::LeaseId, std::int64_t>& begun, Histogram& all) {
    const auto found = begun.find(event.lease);
    if (found == begun.end()) return;
    all.add(static_cast<double>(std::max<std::int64_t>(0, event.at_wall_ms - found->second)) / 1e3);
    begun.erase(found);
  };
  if (event.what == "queued") {
    if (queued_ms_.size() < kFollowedMax) queued_ms_[event.lease] = event.at_wall_ms;
  } else if (event.what == "granted") {
    since(queued_ms_, waited_);
    if (granted_ms_.size() < kFollowedMax) granted_ms_[event.lease] = event.at_wall_ms;
  } else if (std::ranges::any_of(kEnds, [&](const char* end) { return event.what == end; })) {
    if (event.cause == "part") return;  // the rest of the lease goes on
    queued_ms_.erase(event.lease);
    since(granted_ms_, held_);
    ++ended_[event.what];
  }
}

std::string Metrics::text(const Gauges& now) const {
  const std::lock_guard hold(mutex_);
  std::string out;
  std::map<std::string, std::uint64_t> requests = requests_;
  for (const core::Outcome each : kOutcomes) requests[service::outcome_name(each)];
  counters(out, "lockkeeper_requests_total", "Requests for leases by outcome, through this hub.",
           "outcome", requests);
  std::map<std::string, std::uint64_t> ended = ended_;
  for (const char* const each : kEnds) ended[each];
  counters(out, "lockkeeper_leases_ended_total",
           "Leases that ended since this hub started, by how.", "how", ended);
  write(out, "lockkeeper_wait_seconds", "Time in the queue before a grant.", waited_);
  write(out, "lockkeeper_hold_seconds", "Time between a grant and the end of its lease.", held_);
  gauge(out, "lockkeeper_leases_held", "Leases that are held.", now.held);
  gauge(out, "lockkeeper_requests_waiting", "Requests in the queue.", now.waiting);
  gauge(out, "lockkeeper_oldest_wait_seconds", "Age of the oldest request in the queue.",
        now.oldest_wait_seconds);
  gauge(out, "lockkeeper_event_streams", "Open event streams.", now.streams);
  gauge(out, "lockkeeper_connections", "Open connections.", now.connections);
  gauge(out, "lockkeeper_draining", "1 while no new leases are granted.", now.draining ? 1 : 0);
  return out;
}

}  // namespace lockkeeper::hub
