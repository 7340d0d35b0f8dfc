// A way to an etcd that can go wrong: it holds requests back and delivers them later, whoever has
// given up meanwhile, or loses the answers, or holds back what watches tell, or loses everything
// while both sides think that they are connected, or is slow, or is cut.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
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
  // From now on, and also of new connections. Requests are answered meanwhile.
  void hold_watches();
  void swallow();      // from now on: neither requests nor answers arrive
  void delay(int ms);  // each piece that passes waits that long
  void cut();          // all connections; new ones are closed at once
  void heal();         // what was held of requests is lost; what watches told arrives

 private:
  enum class Mode { kPass, kHold, kDeliver, kLose, kHoldWatches, kSwallow, kCut };
  // Cuts what comes in one direction into HTTP/2 frames.
  class Frames {
   public:
    explicit Frames(std::size_t preface) : preface_(preface) {}
    void add(std::string_view bytes) { bytes_ += bytes; }
    std::string next();  // empty: not all of it is there yet

   private:
    std::size_t preface_;  // bytes before the first frame
    std::string bytes_;
  };
  struct Way {
    Fd client, server;
    Frames from_client, from_server;
    std::string held;                 // requests
    std::string told;                 // by watches, and held
    std::set<std::uint32_t> watches;  // streams on which the client may say more
    bool torn = false;                // something is missing that went before
    std::thread thread;
  };
  void accept_all();
  void carry(Way& way);
  bool take_requests(Way& way, Mode mode);  // false: the client is gone
  bool take_answers(Way& way, Mode mode, bool client_there);
  void release(Way& way, Mode mode);
  Mode mode();
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
