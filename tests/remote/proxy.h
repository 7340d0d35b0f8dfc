// A TCP proxy of our own, for tests: between a relay and a hub, it can cut connections, hold back
// what passes, and swallow it while both sides think that they are connected.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace lockkeeper::proof {

class Proxy {
 public:
  // Passes on to that port of loopback.
  explicit Proxy(std::uint16_t to);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  std::uint16_t port() const { return port_; }
  // Closes all connections now, as a router does that forgets them.
  void cut();
  // The next so many answers to calls are lost: the connection is cut when one comes. A beat may
  // come at any time: its answers pass.
  void lose_answers(int count) { losing_ = count; }
  // The next answer to a call is lost, and from then on nobody is there.
  void vanish_with_answer() { vanishing_ = true; }
  // What passes is changed, as if one of the two sides had another version. The texts are equally
  // long. Call before anybody connects.
  void rewrite(std::string from, std::string to) {
    rewritten_.emplace_back(std::move(from), std::move(to));
  }
  // So is the next piece that has `from`, and no other.
  void rewrite_once(std::string from, std::string to);
  // Keeps the pieces with that text that pass from now on. Call before anybody connects.
  void watch(std::string text) { watched_ = std::move(text); }
  std::vector<std::string> seen();
  // Each piece that passes waits that long.
  void delay(int ms) { delay_ms_ = ms; }
  // Half open: what comes is swallowed, new connections are accepted and lead nowhere.
  void swallow(bool on) { swallowing_ = on; }
  // What was asked for so far, as "/v1/beat", in this order.
  std::vector<std::string> requests();
  int lost() const { return lost_; }    // answers so far
  int calls() const { return calls_; }  // of the service, so far; beats do not count

 private:
  struct Pair {
    Fd client;
    Fd server;
    bool calls = false;  // the last request was a call of the service, not a beat
  };
  void loop();
  bool pass_request(Pair& pair);
  bool pass_answer(const Pair& pair);
  std::string receive(const Fd& from);
  bool send(const Fd& to, const std::string& piece) const;

  void change(std::string& piece);

  const std::uint16_t to_;
  std::string watched_;
  std::mutex mutex_;  // protects these three
  std::vector<std::string> seen_;
  std::pair<std::string, std::string> rewritten_once_;
  std::vector<std::string> requests_;
  std::vector<std::pair<std::string, std::string>> rewritten_;
  Fd listening_;
  std::uint16_t port_ = 0;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> cutting_ = false;
  std::atomic<bool> swallowing_ = false;
  std::atomic<bool> vanishing_ = false;
  std::atomic<int> delay_ms_ = 0;
  std::atomic<int> losing_ = 0;
  std::atomic<int> lost_ = 0;
  std::atomic<int> calls_ = 0;
  std::thread thread_;
};

}  // namespace lockkeeper::proof
