#include "host/listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fd.h"

namespace lockkeeper::host {
namespace {

struct Bound {
  Fd fd;
  std::uint16_t port = 0;
};

// A socket on a port that the kernel chose; no descriptor if the machine has no such address.
Bound bound(int family, const char* where, bool reuse) {
  Bound result;
  Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = reuse ? 1 : 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_storage address{};
  socklen_t size = sizeof(sockaddr_in);
  address.ss_family = static_cast<sa_family_t>(family);
  if (family == AF_INET) {
    ::inet_pton(family, where, &reinterpret_cast<sockaddr_in*>(&address)->sin_addr);
  } else {
    size = sizeof(sockaddr_in6);
    ::inet_pton(family, where, &reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr);
  }
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) return result;
  ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size);
  result.port = ntohs(family == AF_INET ? reinterpret_cast<sockaddr_in*>(&address)->sin_port
                                        : reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
  result.fd = std::move(fd);
  return result;
}

TEST(Listener, IsSeenOnEveryKindOfAddress) {
  struct Case {
    int family;
    const char* where;
  };
  int tried = 0;
  for (const Case& one :
       {Case{AF_INET, "0.0.0.0"}, Case{AF_INET, "127.0.0.1"}, Case{AF_INET, "127.0.0.2"},
        Case{AF_INET6, "::"}, Case{AF_INET6, "::1"}}) {
    for (const bool reuse : {false, true}) {
      SCOPED_TRACE(one.where);
      Bound socket = bound(one.family, one.where, reuse);
      if (!socket.fd) continue;  // no IPv6 here
      ++tried;
      ASSERT_EQ(::listen(socket.fd.get(), 1), 0);
      EXPECT_TRUE(may_have_listener(socket.port)) << "reuse " << reuse;
    }
  }
  EXPECT_GE(tried, 6);
}

TEST(Listener, WhoIsGoneIsNotSeenAndNothingIsKept) {
  Bound socket = bound(AF_INET, "127.0.0.1", true);
  ASSERT_TRUE(socket.fd);
  ASSERT_EQ(::listen(socket.fd.get(), 1), 0);
  socket.fd.reset();
  EXPECT_FALSE(may_have_listener(socket.port));
  EXPECT_FALSE(may_have_listener(socket.port));
}

}  // namespace
}  // namespace lockkeeper::host
