// Redis on a Unix socket, the usual lock: SET NX PX, then DEL. Started and stopped here. The client
// is the cheapest there can be: one write, one read per command.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "base/assert.h"
#include "base/fd.h"
#include "bench.h"

namespace lockkeeper::bench {
namespace {

std::string command(const std::vector<std::string>& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return text;
}

Fd connect_to(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fd.reset();
  }
  return fd;
}

void call(const Fd& fd, const std::string& text) {
  char reply[128];
  LOCKKEEPER_ASSERT(::write(fd.get(), text.data(), text.size()) ==
                    static_cast<ssize_t>(text.size()));
  const ssize_t n = ::read(fd.get(), reply, sizeof reply);
  LOCKKEEPER_ASSERT(n > 0 && (reply[0] == '+' || reply[0] == ':'));
}

}  // namespace

void redis(const Setup& setup, Report& report) {
  const std::string socket = setup.folder + "/redis.sock";
  const pid_t server = ::fork();
  if (server == 0) {
    const Fd null(::open("/dev/null", O_RDWR));
    ::dup2(null.get(), STDOUT_FILENO);
    ::execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket.c_str(),
             "--save", "", "--appendonly", "no", "--dir", setup.folder.c_str(), nullptr);
    ::_exit(127);
  }
  Fd fd;
  for (int i = 0; i < 100 && !fd; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    fd = connect_to(socket);
  }
  if (!fd) {
    ::kill(server, SIGKILL);
    ::waitpid(server, nullptr, 0);
    report.skipped.push_back("Redis: redis-server is not installed or did not start");
    return;
  }
  for (int i = 0; i < setup.held; ++i) {
    call(fd, command({"SET", held_path(i), "agent", "NX", "PX", "36000000"}));
  }
  int i = 0;
  report.rows.push_back({"Redis: SET NX PX + DEL", "-",
                         measure(setup.seconds, 1000,
                                 [&] {
                                   const std::string path = path_at(7, i++);
                                   call(fd, command({"SET", path, "agent", "NX", "PX", "3600000"}));
                                   call(fd, command({"DEL", path}));
                                 }),
                         "one exact key: no subtree, glob, queue, history, fence or owner check"});
  ::kill(server, SIGTERM);
  ::waitpid(server, nullptr, 0);
}

}  // namespace lockkeeper::bench
