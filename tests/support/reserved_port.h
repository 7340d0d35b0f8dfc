// A port of the loopback interface for a server that a test ends and starts again.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "base/assert.h"
#include "base/fd.h"

namespace lockkeeper::stage {

// Nobody else gets it as long as this process lives, also while nothing listens there: no test that
// asks for one here, and nobody who asks the kernel for any port, because it has others for that.
inline std::uint16_t reserved_port() {
  constexpr std::uint16_t kFirst = 26'000;  // some tests have ports of their own below
  constexpr std::uint16_t kLast = 31'999;
  static std::mt19937 random{std::random_device()()};
  for (int tries = 0; tries < 1'000; ++tries) {
    const auto port = std::uniform_int_distribution<std::uint16_t>(kFirst, kLast)(random);
    // A name without a file, which goes with the process that has it.
    Fd reservation(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = "lockkeeper-test-port-" + std::to_string(port);
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    if (::bind(reservation.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) continue;
    const Fd free(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(free.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) continue;
    static_cast<void>(reservation.release());
    return port;
  }
  LOCKKEEPER_ASSERT(false && "no port is free");
  return 0;
}

}  // namespace lockkeeper::stage
