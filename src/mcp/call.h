// One running request: its client, its progress, whether it was cancelled. After a cancellation the
// client hears nothing more of it.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "mcp/pool.h"
#include "mcp/revision.h"

namespace lockkeeper::mcp {

// Where messages go: a connection, or the answer to one HTTP request. Messages stay whole and in
// order. send() never blocks for long and never throws; if the client is gone, it does nothing.
//
// Thread safety: all methods may be called from any thread.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void send(const Json& message) = 0;
  // The request is finished: HTTP ends its answer here.
  virtual void end() {}
  // Closes the stream before the answer (polling, 2025-11-25).
  virtual void close_early() {}
};

class Call {
 public:
  // Asks the client something and waits for its answer (legacy). nullopt: the client cannot be
  // asked, did not answer, or the call was cancelled.
  using Ask =
      std::function<std::optional<Json>(const std::string& method, Json params, const Call& by)>;

  // `pool`: the pool whose thread runs the call, or null. Must outlive it.
  Call(Client client, std::string method, Json params, std::shared_ptr<Outlet> outlet, Ask ask = {},
       Pool* pool = nullptr);

  const Client& client() const { return client_; }
  const std::string& method() const { return method_; }
  const Json& params() const { return params_; }
  const Json& meta() const { return meta_of(params_); }
  const std::shared_ptr<Outlet>& outlet() const { return outlet_; }

  // Reports progress, which only grows; nothing if the client gave no token.
  void progress(double done, std::optional<double> total = {}, const std::string& message = {});
  // Sent only at or above the level that the client (legacy: its session) chose.
  void log(const std::string& level, const std::string& logger, const Json& data);
  void set_log_level(std::optional<std::string> level);
  // Only for capabilities that the client has declared.
  std::optional<Json> ask(const std::string& method, Json params);

  // Held while the call only waits, so that its thread's place is free for others. False: too many
  // wait already, or the conversation ends; the call must answer at once.
  class Pause {
   public:
    explicit Pause(Call& call) : call_(call), granted_(call.begin_pause()) {}
    ~Pause() {
      if (granted_) call_.end_pause();
    }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    explicit operator bool() const { return granted_; }

   private:
    Call& call_;
    const bool granted_;
  };

  // The client cancelled it, or is gone. A waiting call must check this or use on_cancel.
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  void cancel();
  // Called once, by cancel(), or at once if the call is cancelled already; from any thread.
  void on_cancel(std::function<void()> action);
  // The client sends no more: a waiting call is cancelled, a working one may still answer.
  void hurry();

 private:
  bool begin_pause();
  void end_pause();

  const Client client_;
  const std::string method_;
  const Json params_;
  const std::shared_ptr<Outlet> outlet_;
  const Ask ask_;
  Pool* const pool_;
  std::optional<std::string> log_level_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;  // protects what is below; held while sending to the client
  std::function<void()> on_cancel_;
  double progress_ = -1;
  bool hurried_ = false;
  std::size_t pauses_ = 0;
};

// debug, info, notice, warning, error, critical, alert, emergency: 0 to 7; -1 for any other.
int log_severity(const std::string& level);

}  // namespace lockkeeper::mcp
