// For tests alone: leases and conflicts made by hand, and what a command says.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/captured_stream.h"
#include "cli/cli.h"
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

// What a command says that needs no store. It must succeed, without a word on stderr.
inline std::string said(const std::vector<std::string>& words) {
  service::Runtime runtime;
  runtime.env = [](const char*) { return std::nullopt; };
  const CapturedStream out, err;
  CliEnvironment environment;
  environment.runtime = &runtime;
  environment.out = out.get();
  environment.err = err.get();
  std::vector<const char*> arguments = {"lockkeeper"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  EXPECT_EQ(run_cli(static_cast<int>(arguments.size()), arguments.data(), environment), 0);
  EXPECT_EQ(err.text(), "");
  return out.text();
}

}  // namespace lockkeeper::cli
