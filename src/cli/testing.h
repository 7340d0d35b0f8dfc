// For tests alone: leases and conflicts made by hand, and a stream that ends up in a string.
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>

#include <cstdlib>
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

class CapturedStream {
 public:
  CapturedStream() : stream_(::open_memstream(&text_, &size_)) {}
  ~CapturedStream() {
    std::fclose(stream_);
    std::free(text_);
  }
  CapturedStream(const CapturedStream&) = delete;
  CapturedStream& operator=(const CapturedStream&) = delete;

  std::FILE* get() const { return stream_; }
  std::string text() const {
    std::fflush(stream_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_;
};

}  // namespace lockkeeper::cli
