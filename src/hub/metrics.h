// What /metrics shows, in the text form of Prometheus. No label has a name of a file, an agent or a
// person: their number has no bound.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "core/encoding.h"
#include "core/requests.h"

namespace lockkeeper::hub {

// Of all realms together, at this moment.
struct Gauges {
  std::size_t held = 0;
  std::size_t waiting = 0;
  double oldest_wait_seconds = 0;
  std::size_t streams = 0;
  std::size_t connections = 0;
  bool draining = false;
};

class Metrics {
 public:
  // A request for leases was answered.
  void answered(core::Outcome outcome);
  // Something was recorded in a realm's history, whoever did it.
  void happened(const core::Event& event);

  std::string text(const Gauges& now) const;

 private:
  static constexpr std::array kBounds = {0.01, 0.1, 1.0, 10.0, 60.0, 300.0, 1'800.0, 7'200.0};
  struct Histogram {
    std::array<std::uint64_t, kBounds.size() + 1> counts{};
    double sum = 0;
    void add(double seconds);
  };
  static void write(std::string& out, const char* name, const char* help, const Histogram& all);

  mutable std::mutex mutex_;                       // protects all below
  std::map<std::string, std::uint64_t> requests_;  // by outcome
  std::map<std::string, std::uint64_t> ended_;     // by how
  Histogram waited_;
  Histogram held_;
  std::map<core::LeaseId, std::int64_t> queued_ms_;
  std::map<core::LeaseId, std::int64_t> granted_ms_;
};

}  // namespace lockkeeper::hub
