#include "host/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/fd.h"

namespace lockkeeper::host {
namespace {

// True: somebody has it, or it is unknown. On a machine without this kind of address nobody listens
// on one.
bool is_taken(int family, const sockaddr* address, socklen_t size) {
  const Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno != EAFNOSUPPORT && errno != EPROTONOSUPPORT;
  const int yes = 1;
  // Past connections do not count; a listener does, whatever it has set itself.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (family == AF_INET6) ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  if (::bind(fd.get(), address, size) == 0) return false;
  return errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT;
}

}  // namespace

bool may_have_listener(std::uint16_t port) {
  for (const in_addr_t where : {INADDR_ANY, INADDR_LOOPBACK}) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(where);
    if (is_taken(AF_INET, reinterpret_cast<const sockaddr*>(&address), sizeof address)) return true;
  }
  for (const in6_addr& where : {in6addr_any, in6addr_loopback}) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    address.sin6_addr = where;
    if (is_taken(AF_INET6, reinterpret_cast<const sockaddr*>(&address), sizeof address)) {
      return true;
    }
  }
  return false;
}

}  // namespace lockkeeper::host
