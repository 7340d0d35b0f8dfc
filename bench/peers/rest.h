// Clients of a hub of ours, as small as can be.
#pragma once

#include <functional>
#include <string>

#include "bench/peers/http_lane.h"
#include "bench/report.h"
#include "bench/setup.h"
#include "core/types.h"

namespace lockkeeper::bench {

inline constexpr const char* kRestName = "POST /v1/acquire, /v1/release";

// One client of the hub, with one connection.
class RestClient {
 public:
  RestClient(int port, const std::string& agent, const std::string& session = "")
      : http_(port, "Lockkeeper-Agent: " + agent + "\r\n" +
                        (session.empty() ? "" : "Lockkeeper-Session: " + session + "\r\n")) {}
  int fd() const { return http_.fd(); }

  void start(const char* verb, const std::string& path) const {
    http_.start_post("/v1/" + std::string(verb), R"({"resources":[")" + path + R"("]})");
  }
  void send(const std::string& text) const { http_.send(text); }
  bool hear() { return http_.hear(); }
  void pair(const std::string& path);

 private:
  HttpLane http_;
};

// All of them at once, from one thread: each sends its next request when the last was answered.
// `owner` says who the client with that number is.
Row crowd_row(const Setup& setup, const std::string& name, int port, int clients,
              const std::function<core::Owner(int)>& owner);

}  // namespace lockkeeper::bench
