#include "remote/relay_line.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/bytes.h"
#include "base/text.h"
#include "host/local_socket.h"
#include "host/spawn.h"

namespace lockkeeper::remote {
namespace {

constexpr int kStartMs = 3'000;
constexpr std::size_t kAnswerBytesMax = 16U << 20;

std::string process_name(Random& random) {
  std::string bytes;
  append_be64(bytes, random.next());
  append_be64(bytes, random.next());
  return to_hex(bytes);
}

std::unexpected<Error> no_relay(const std::string& why, const std::string& url) {
  return fail(Code::kStoreUnavailable, "the relay to the hub " + url + " cannot be used: " + why,
              "see why: lockkeeper relay " + shell_quote(url));
}

std::unexpected<Error> lost(const char* why) {
  return fail(Code::kUnknown, std::string("the relay has not answered: ") + why, "ask again");
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool closed_by_peer(const Fd& socket) {
  char byte = 0;
  const ssize_t n = ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace

RelayLine::RelayLine(realm::Server server, std::string program, realm::Environment env,
                     Random& random, int answer_ms)
    : server_(std::move(server)),
      program_(program.empty() ? "lockkeeper" : std::move(program)),
      env_(std::move(env)),
      process_(process_name(random)),
      answer_ms_(answer_ms) {}

// not_found: nobody is there.
Result<Fd> RelayLine::try_connect() const {
  auto socket = host::connect_local(server_.folder + "/" + kRelaySocket);
  const bool trouble = !socket && socket.error().code != Code::kNotFound;
  return trouble ? no_relay(socket.error().message, server_.url) : std::move(socket);
}

// With nothing of ours but where the user's folders are: it reads the token itself.
Result<void> RelayLine::start_relay() const {
  host::Program program;
  program.argv = {program_, "relay", server_.url};
  program.environment.emplace();
  for (const char* const name :
       {"HOME", "PATH", "USER", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"}) {
    if (const auto value = env_(name)) program.environment->push_back(name + ("=" + *value));
  }
  program.folder = "/";
  program.in = program.out = program.err = host::kNothing;
  program.group = host::Program::Group::kSession;
  const auto started = host::start_program(program);
  if (!started) return no_relay(started.error().message, server_.url);
  const int status = host::wait_for(*started).value_or(0);  // somebody else has reaped it
  if (status == 0) return {};
  return no_relay("it ended with status " + std::to_string(status), server_.url);
}

Result<Fd> RelayLine::connect() {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(kStartMs);
  for (bool started = false;; started = true) {
    auto socket = try_connect();
    if (socket || socket.error().code != Code::kNotFound) return socket;
    if (!started) LK_CHECK(start_relay());
    if (Clock::now() >= until) return no_relay("nobody answers at its socket", server_.url);
    // Another process has started it, and it is not listening yet.
    if (started) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Result<std::string> RelayLine::exchange(const Fd& socket, const std::string& request) const {
  if (!send_all(socket.get(), process_ + " " + server_.name + "\n" + request + "\n")) {
    return lost("the connection is closed");
  }
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(answer_ms_);
  std::string answer;
  char piece[16384];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd wanted{socket.get(), POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return lost("it did not come in time");
    const ssize_t n = ::recv(socket.get(), piece, sizeof piece, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return lost("the connection is closed");
    answer.append(piece, static_cast<std::size_t>(n));
    if (answer.size() > kAnswerBytesMax) return lost("the answer is too long");
    if (!answer.ends_with('\n')) continue;
    answer.pop_back();
    return answer;
  }
}

// The relay takes a process without a connection for gone and leaves the queues in which it waits.
// So this one stays open until another one has been answered.
void RelayLine::give_up(Fd socket) {
  const std::lock_guard hold(mutex_);
  if (!given_up_ || closed_by_peer(given_up_)) given_up_ = std::move(socket);
}

Result<std::string> RelayLine::ask(const std::string& request) {
  Fd socket;
  {
    const std::lock_guard hold(mutex_);
    if (!idle_.empty()) {
      socket = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!socket) {
    LK_ASSIGN(socket, connect());
  }
  auto answer = exchange(socket, request);
  if (!answer) {
    give_up(std::move(socket));
    return answer;
  }
  const std::lock_guard hold(mutex_);
  idle_.push_back(std::move(socket));
  given_up_ = Fd();
  return answer;
}

}  // namespace lockkeeper::remote
