// A session in this process, for targets that talk MCP: everything that it says is held against the
// protocol by the checker of tests/mcp.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "fuzz.h"
#include "mcp/checker.h"
#include "mcp/session.h"

namespace lockkeeper::fuzz {

class Conversation {
 public:
  explicit Conversation(const mcp::Catalogue& catalogue)
      : session_(std::make_shared<mcp::Session>(catalogue, pool())), ear_(std::make_shared<Ear>()) {
    session_->set_listener(ear_);
  }
  ~Conversation() { session_->close(); }

  // One message, and all that it is answered with. Transports keep blank lines to themselves.
  void say(std::string_view text) {
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) return;
    {
      const std::lock_guard lock(ear_->mutex);
      ear_->checker.sent(text);
    }
    session_->take_text(text, ear_);
    std::unique_lock lock(ear_->mutex);
    const bool all = ear_->changed.wait_for(lock, std::chrono::seconds(30), [&] {
      return ear_->checker.open_requests() == 0 && ear_->checker.open_errors() == 0;
    });
    require(all, "a message was not answered");
  }
  void initialize(const std::string& revision) {
    say(R"({"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":")" +
        revision + R"(","capabilities":{},"clientInfo":{"name":"f","version":"1"}}})");
  }

 private:
  // What is heard is judged at once.
  struct Ear final : mcp::Outlet {
    void send(const mcp::Json& message) override {
      const std::lock_guard lock(mutex);
      for (const std::string& wrong : checker.received(mcp::line_of(message))) {
        require(false, wrong);
      }
      changed.notify_all();
    }
    std::mutex mutex;  // protects what is below
    std::condition_variable changed;
    proof::Checker checker;
  };

  // Threads are kept from run to run.
  static mcp::Pool& pool() {
    static mcp::Pool one(4);
    return one;
  }

  const std::shared_ptr<mcp::Session> session_;
  const std::shared_ptr<Ear> ear_;
};

}  // namespace lockkeeper::fuzz
