// A way to an etcd that can go wrong: it holds requests back and delivers them later, whoever has
// given up meanwhile, loses the answers, loses everything while both sides think that they are
// connected, or is slow.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "base/fd.h"

namespace lockkeeper::etcd_testing {

class Proxy {
 public:
  explicit Proxy(const std::string& endpoint);  // "10.0.0.1:port"
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::uint16_t port() const { return port_; }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  void hold_requests();  // from now on
  // Delivers what was held, but nothing that takes it back. Waits until etcd has answered some of
  // it.
  void deliver();
  // The same, for so long at most: perhaps nothing was held.
  void deliver_within(std::chrono::milliseconds patience);
  void lose_answers();  // from now on; requests arrive
  void swallow();       // from now on: neither requests nor answers arrive
  void delay(int ms);   // each piece that passes waits that long
  void heal();          // what was held is lost

 private:
  enum class Mode { kPass, kHold, kDeliver, kLose, kSwallow };
  struct Way {
    Fd client, server;
    std::string held;
    bool torn = false;  // something is missing that went before
    std::thread thread;
  };
  void accept_all();
  void carry(Way& way);
  void set(Mode mode);

  const std::string host_;
  const std::uint16_t target_;
  std::uint16_t port_ = 0;
  Fd listener_;
  std::mutex mutex_;
  std::condition_variable answered_;
  Mode mode_ = Mode::kPass;
  int delay_ms_ = 0;
  std::uint64_t delivered_ = 0;  // answers that came to what was held
  bool stopping_ = false;
  std::list<Way> ways_;
  std::thread acceptor_;
};

}  // namespace lockkeeper::etcd_testing
