// A network between this machine and itself: a TCP proxy that keeps everything for a while.
#pragma once

#include <atomic>
#include <thread>

#include "base/fd.h"

namespace lockkeeper::bench {

class Distance {
 public:
  // To that port of the loopback interface. Each direction takes half of the round trip.
  Distance(int to, int round_trip_ms);
  ~Distance();
  Distance(const Distance&) = delete;
  Distance& operator=(const Distance&) = delete;

  int port() const { return port_; }

 private:
  void loop();

  const int to_;
  const int one_way_ms_;
  int port_ = 0;
  Fd listening_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace lockkeeper::bench
