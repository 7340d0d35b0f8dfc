#include "host/local_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace lockkeeper::host {
namespace {

struct SocketAddress {
  sockaddr_un address{};
  Fd folder;  // as long as the address is used
};

// A path that is too long for a socket goes by its folder: homes may be deep.
Result<SocketAddress> address_of(const std::string& path) {
  SocketAddress found;
  found.address.sun_family = AF_UNIX;
  constexpr std::size_t kMost = sizeof found.address.sun_path - 1;
  std::string text = path;
  if (text.size() > kMost) {
    const std::size_t slash = path.rfind('/') + 1;
    found.folder = Fd(::open(path.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!found.folder) {
      const bool none = errno == ENOENT || errno == ENOTDIR;
      return fail(errno_error(errno, path, none ? Code::kNotFound : Code::kFailed));
    }
    text = "/proc/self/fd/" + std::to_string(found.folder.get()) + "/" + path.substr(slash);
  }
  if (text.size() > kMost) {
    return fail(Code::kFailed, quote(path) + " is too long for a socket",
                "set XDG_RUNTIME_DIR to a shorter folder");
  }
  std::memcpy(found.address.sun_path, text.c_str(), text.size() + 1);
  return found;
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
  LK_ASSIGN(const SocketAddress at, address_of(path));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return fail(errno_error(errno, path, Code::kFailed));
  }
  Fd socket = new_socket();
  const mode_t before = ::umask(0177);
  const auto* const where = reinterpret_cast<const sockaddr*>(&at.address);
  const bool bound = socket && ::bind(socket.get(), where, sizeof at.address) == 0;
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
  LK_ASSIGN(const SocketAddress at, address_of(path));
  Fd socket = new_socket();
  if (!socket) return fail(errno_error(errno, path, Code::kFailed));
  const auto* const where = reinterpret_cast<const sockaddr*>(&at.address);
  if (::connect(socket.get(), where, sizeof at.address) != 0) {
    const bool nobody = errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR;
    return fail(errno_error(errno, path, nobody ? Code::kNotFound : Code::kFailed));
  }
  if (is_same_user(socket.get())) return socket;
  return fail(Code::kFailed, quote(path) + " belongs to another user", "remove it");
}

}  // namespace lockkeeper::host
