// One request at work: who asks, how to tell of its progress, whether it is still wanted. Of a
// cancelled one the client hears nothing more.
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

// Where messages go: a connection, or the answer to one HTTP request. Every message whole and in
// order. send() never blocks for long and never throws; who is gone hears nothing.
//
// Thread safety: all methods may be called from any thread.
class Outlet {
 public:
  virtual ~Outlet() = default;
  virtual void send(const Json& message) = 0;
  // Nothing more comes for this request: HTTP ends its answer here.
  virtual void end() {}
  // The stream is to be closed although the answer is still to come (polling, 2025-11-25).
  virtual void close_early() {}
};

class Call {
 public:
  // Asks the client something and waits for its answer (legacy); nullopt: it cannot be asked, or
  // does not answer, or the call was cancelled meanwhile.
  using Ask =
      std::function<std::optional<Json>(const std::string& method, Json params, const Call& by)>;

  // `pool`: whose thread it runs on, if any. Must outlive it.
  Call(Client client, std::string method, Json params, std::shared_ptr<Outlet> outlet, Ask ask = {},
       Pool* pool = nullptr);

  const Client& client() const { return client_; }
  const std::string& method() const { return method_; }
  const Json& params() const { return params_; }
  const Json& meta() const { return meta_of(params_); }
  const std::shared_ptr<Outlet>& outlet() const { return outlet_; }

  // For a waiting person: nothing if the client gave no token. Only ever more.
  void progress(double done, std::optional<double> total = {}, const std::string& message = {});
  // As the client wishes: its level (legacy: of the session) decides what is told.
  void log(const std::string& level, const std::string& logger, const Json& data);
  void set_log_level(std::optional<std::string> level);
  // Only what the client has declared that it can be asked.
  std::optional<Json> ask(const std::string& method, Json params);

  // To be held while the call only waits, so that others are not kept from working. False: it must
  // not wait, and answers at once: too many wait already, or the conversation ends.
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

  // The client no longer wants it, or is gone. What waits must look, or be told by on_cancel.
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  void cancel();
  // Called once, at cancel(), or at once if that was before; from any thread.
  void on_cancel(std::function<void()> action);
  // The client has nothing more to say: what waits is cancelled, what works may still answer.
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
  std::mutex mutex_;  // protects what is below; held while the client is told something
  std::function<void()> on_cancel_;
  double progress_ = -1;
  bool hurried_ = false;
  std::size_t pauses_ = 0;
};

// debug, info, notice, warning, error, critical, alert, emergency: 0 to 7; -1: no such level.
int log_severity(const std::string& level);

}  // namespace lockkeeper::mcp
