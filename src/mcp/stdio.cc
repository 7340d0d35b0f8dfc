#include "mcp/stdio.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "mcp/line_outlet.h"

namespace lockkeeper::mcp {
namespace {

constexpr std::size_t kBlock = 64 << 10;

// A client that sends a few messages and closes gets their answers, except from waiting calls.
constexpr auto kFinish = std::chrono::milliseconds(1000);
constexpr auto kLastWords = std::chrono::milliseconds(250);

// Splits the input into lines.
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

  // A complete line, or the last one, which may lack its end.
  void finish() {
    if (too_long_) {
      outlet_->send(error_response(
          nullptr, {code::kInvalidRequest,
                    "a message has at most " + std::to_string(kMessageBytesMax) + " bytes"}));
    } else if (line_.find_first_not_of(" \t\r") != std::string::npos) {
      session_.take_text(line_, outlet_);
    }
    too_long_ = false;
    line_.clear();
  }

 private:
  Session& session_;
  const std::shared_ptr<Outlet> outlet_;
  std::string line_;
  bool too_long_ = false;
};

// True: the input ended. False: a signal came, or the client is gone.
bool read_all(int in, int ended, int broken, Lines& lines) {
  std::string block(kBlock, '\0');
  for (;;) {
    pollfd wanted[] = {{in, POLLIN, 0}, {ended, POLLIN, 0}, {broken, POLLIN, 0}};
    if (::poll(wanted, 3, -1) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (wanted[1].revents != 0 || wanted[2].revents != 0) return false;
    if (wanted[0].revents == 0) continue;
    const ssize_t n = ::read(in, block.data(), block.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return false;
    if (n == 0) {
      lines.finish();
      return true;
    }
    lines.add(std::string_view(block).substr(0, static_cast<std::size_t>(n)));
  }
}

}  // namespace

void serve_stdio(const std::shared_ptr<Session>& session, const StdioOptions& options) {
  const auto outlet = std::make_shared<LineOutlet>(options.out, options.limits);
  session->set_listener(outlet);
  Lines lines(*session, outlet);
  if (read_all(options.in, options.ended, outlet->broken(), lines)) session->finish(kFinish);
  session->close();
  outlet->stop(kLastWords);
}

}  // namespace lockkeeper::mcp
