// For tests only: what no client of a server would send.
#pragma once

#include <gtest/gtest.h>

#include "http/test_client.h"

namespace lockkeeper::http {

// The same bytes for the same seed, a few or some hundred.
inline std::string garbage(std::uint64_t seed, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& each : bytes) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    each = static_cast<char>(seed >> 56);
  }
  return bytes;
}

// A hundred connections with nothing but garbage, every second one behind `begin`: each is refused
// or closed.
inline void send_garbage(std::uint16_t port, const std::string& begin) {
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::string bytes = garbage(i + 1, 1 + i * 13 % 700);
    TestClient client(port);
    client.send(i % 2 == 0 ? bytes : begin + bytes);
    client.half_close();
    const int got = client.answer().status;
    EXPECT_TRUE(got == 0 || (got >= 400 && got < 600)) << got;
  }
}

}  // namespace lockkeeper::http
