// For tests only: an HTTP answer that is kept, and a client that can disconnect.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "http/server.h"
#include "mcp/json_rpc.h"

namespace lockkeeper::mcp {

class TestReply final : public http::Reply {
 public:
  void whole(int status, const http::Headers& headers, std::string body) override {
    set([&] {
      if (status_ != 0) return;
      status_ = status;
      parts_.headers = headers;
      parts_.body = std::move(body);
      ended_ = true;
    });
  }
  void begin(int status, const http::Headers& headers, std::string idle) override {
    set([&] {
      status_ = status;
      parts_.headers = headers;
      idle_ = std::move(idle);
    });
  }
  void chunk(std::string text) override {
    set([&] {
      if (!gone_ && !ended_) parts_.body += text;
    });
  }
  void end() override {
    set([&] { ended_ = true; });
  }
  void on_gone(std::function<void()> action) override { on_gone_ = std::move(action); }

  void leave() {
    set([&] { gone_ = true; });
    if (on_gone_ && !ended_) on_gone_();
  }

  // Each waits for it.
  int status() {
    wait([&] { return status_ != 0; });
    return status_;
  }
  std::string header(std::string_view name) {
    status();
    const std::string* const value = parts_.header(name);
    return value == nullptr ? "" : *value;
  }
  std::string body() {
    wait([&] { return ended_; });
    return parts_.body;
  }
  Json json() { return Json::parse(body(), nullptr, false); }
  // Waits until the text contains it; returns all so far.
  std::string body_with(std::string_view text) {
    wait([&] { return parts_.body.find(text) != std::string::npos; });
    const std::lock_guard lock(mutex_);
    return parts_.body;
  }
  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  bool is_stream() { return header("Content-Type") == "text/event-stream"; }

  // The messages of a stream, without empty events.
  static std::vector<Json> messages(const std::string& events) {
    std::vector<Json> found;
    for (std::size_t at = events.find("data: {"); at != std::string::npos;
         at = events.find("data: {", at + 1)) {
      found.push_back(Json::parse(events.substr(at + 6, events.find('\n', at) - at - 6)));
    }
    return found;
  }

 private:
  template <class Change>
  void set(const Change& change) {
    {
      const std::lock_guard lock(mutex_);
      change();
    }
    changed_.notify_all();
  }
  template <class Holds>
  void wait(const Holds& holds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(60), holds);
  }

  std::mutex mutex_;  // protects all below but `on_gone_`
  std::condition_variable changed_;
  int status_ = 0;
  http::Request parts_;
  std::string idle_;
  bool ended_ = false;
  bool gone_ = false;
  std::function<void()> on_gone_;
};

}  // namespace lockkeeper::mcp
