#include "host/service_manager.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "base/fd.h"
#include "base/parse.h"

namespace lockkeeper::host {

Result<int> inherited_socket(const Environment& env) {
  constexpr int kFirst = 3;
  const auto pid = number_in<int>(env("LISTEN_PID").value_or(""));
  const auto count = number_in<int>(env("LISTEN_FDS").value_or(""));
  if (!pid || *pid != ::getpid() || !count || *count == 0) return -1;
  if (*count != 1) {
    return fail(Code::kInvalidInput,
                "the service manager has opened " + std::to_string(*count) + " sockets",
                "give the unit one ListenStream=");
  }
  ::fcntl(kFirst, F_SETFD, FD_CLOEXEC);
  return kFirst;
}

void tell_manager(const Environment& env, std::string_view state) {
  const std::string path = env("NOTIFY_SOCKET").value_or("");
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';  // a name of the kernel's, not a file
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace lockkeeper::host
