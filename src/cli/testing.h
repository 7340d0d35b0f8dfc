// For tests only: leases and conflicts made by hand.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "service/locks.h"

namespace lockkeeper::cli {

inline key::Resource resource(const std::string& text) {
  auto parsed = key::parse(text, {});
  EXPECT_TRUE(parsed) << text;
  return parsed ? parsed->resource : key::Resource();
}

inline constexpr std::int64_t kTestNow = 1'768'663'800'000;  // 2026-01-17T15:30:00Z
inline constexpr std::int64_t kTestHour = 3'600'000;

inline core::Lease lease_of(const std::string& agent, const std::vector<std::string>& resources,
                            core::Mode mode = core::Mode::kExclusive) {
  core::Lease lease;
  lease.id.bytes = std::string(15, '\1') + static_cast<char>(agent.size());
  lease.owner.agent = agent;
  for (const std::string& text : resources) lease.claims.push_back({resource(text), mode, 0});
  lease.acquired_wall_ms = kTestNow - 120'000;
  lease.expires_wall_ms = kTestNow + kTestHour;
  lease.created = 40;
  return lease;
}

}  // namespace lockkeeper::cli
