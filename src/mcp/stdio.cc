#include "mcp/stdio.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <string>

namespace lockkeeper::mcp {
namespace {

constexpr std::size_t kBlock = 64 << 10;

// A client that reads nothing for so long has hung; its pipe is full, and others' messages wait.
constexpr int kWritePatienceMs = 30'000;

class LineOutlet final : public Outlet {
 public:
  explicit LineOutlet(int fd) : fd_(fd) {}

  void send(const Json& message) override {
    const std::string line = line_of(message) + "\n";
    const std::lock_guard lock(mutex_);
    if (broken_) return;
    std::string_view rest = line;
    while (!rest.empty()) {
      pollfd wanted{fd_, POLLOUT, 0};
      const int ready = ::poll(&wanted, 1, kWritePatienceMs);
      if (ready < 0 && errno == EINTR) continue;
      const ssize_t n = ready <= 0 ? -1 : ::write(fd_, rest.data(), rest.size());
      if (n < 0 && ready > 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (n < 0) {
        broken_ = true;
        return;
      }
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }

 private:
  const int fd_;
  std::mutex mutex_;
  bool broken_ = false;
};

// Cuts what comes into lines.
class Lines {
 public:
  Lines(Session& session, std::shared_ptr<Outlet> outlet)
      : session_(session), outlet_(std::move(outlet)) {}

  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      if (line_.size() + part.size() > kMessageBytesMax) {
        too_long_ = true;
        line_.clear();
      } else if (!too_long_) {
        line_ += part;
      }
      if (end == std::string_view::npos) return;
      finish();
      bytes.remove_prefix(end + 1);
    }
  }

 private:
  void finish() {
    if (too_long_) {
      outlet_->send(error_response(
          nullptr,
          {code::kInvalidRequest,
           "a message has at most " + std::to_string(kMessageBytesMax) + " bytes", nullptr}));
    } else if (line_.find_first_not_of(" \t\r") != std::string::npos) {
      session_.take_text(line_, outlet_);
    }
    too_long_ = false;
    line_.clear();
  }

  Session& session_;
  const std::shared_ptr<Outlet> outlet_;
  std::string line_;
  bool too_long_ = false;
};

}  // namespace

void serve_stdio(const std::shared_ptr<Session>& session, const StdioOptions& options) {
  const auto outlet = std::make_shared<LineOutlet>(options.out);
  session->set_listener(outlet);
  Lines lines(*session, outlet);
  std::string block(kBlock, '\0');
  for (;;) {
    pollfd wanted[] = {{options.in, POLLIN, 0}, {options.ended, POLLIN, 0}};
    if (::poll(wanted, 2, -1) < 0 && errno != EINTR) break;
    if (wanted[1].revents != 0) break;
    if (wanted[0].revents == 0) continue;
    const ssize_t n = ::read(options.in, block.data(), block.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) break;
    lines.add(std::string_view(block).substr(0, static_cast<std::size_t>(n)));
  }
  session->close();
}

}  // namespace lockkeeper::mcp
