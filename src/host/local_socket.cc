#include "host/local_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace lockkeeper::host {
namespace {

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Code::kFailed, quote(path) + " is too long for a socket",
                "set XDG_RUNTIME_DIR to a shorter folder");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

bool is_same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

Fd new_socket() {
  return Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

}  // namespace

Result<Fd> listen_local(const std::string& path) {
  LK_ASSIGN(const sockaddr_un address, address_of(path));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return fail(errno_error(errno, path, Code::kFailed));
  }
  Fd socket = new_socket();
  const mode_t before = ::umask(0177);
  const auto* const where = reinterpret_cast<const sockaddr*>(&address);
  const bool bound = socket && ::bind(socket.get(), where, sizeof address) == 0;
  const int why = errno;
  ::umask(before);
  if (!bound) return fail(errno_error(why, path, Code::kFailed));
  if (::listen(socket.get(), SOMAXCONN) != 0) return fail(errno_error(errno, path, Code::kFailed));
  return socket;
}

Fd accept_local(int listening) {
  Fd socket(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
  if (socket && !is_same_user(socket.get())) socket.reset();
  return socket;
}

Result<Fd> connect_local(const std::string& path) {
  LK_ASSIGN(const sockaddr_un address, address_of(path));
  Fd socket = new_socket();
  if (!socket) return fail(errno_error(errno, path, Code::kFailed));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const bool nobody = errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR;
    return fail(errno_error(errno, path, nobody ? Code::kNotFound : Code::kFailed));
  }
  if (is_same_user(socket.get())) return socket;
  return fail(Code::kFailed, quote(path) + " belongs to another user", "remove it");
}

}  // namespace lockkeeper::host
