// What the supervisor of one attempt is told, and how it and the foreman talk while both live.
//
// The orders go through a file, so that nothing of them stands in a process's title; the talk
// through a socket whose end tells either side that the other is gone.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace lockkeeper::crew {

// In an attempt's folder, OUTPUT/agents/AGENT/NUMBER/.
inline constexpr const char* kOrdersName = "orders.json";
inline constexpr const char* kAliveName = "alive";         // locked while the supervisor lives
inline constexpr const char* kStartedName = "started";     // there before the command is started
inline constexpr const char* kResultName = "result.json";  // there when it has ended
inline constexpr const char* kLogName = "log";             // what the command printed
inline constexpr const char* kSupervisorLogName = "supervisor.log";

struct Orders {
  std::size_t number = 1;  // of the attempt
  std::string agent;
  std::string session;
  std::vector<std::string> locks;  // as the service reads them, from the realm's root
  std::int64_t ttl_ms = 0;
  std::string reason;
  std::string task;
  std::string feature;  // whose pause is heeded; empty: none
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  std::string folder;  // where the command runs
  std::int64_t timeout_ms = 0;
  std::int64_t grace_ms = 0;
  std::uint64_t log_bytes_max = 0;
  bool look_at_changes = true;
  std::vector<std::string> leave_out;  // folders in which changes do not count
};

std::string orders_text(const Orders& orders);
Result<Orders> orders_from(const std::string& text);

// The supervisor's descriptor for the talk.
inline constexpr int kChannelFd = 3;

// One end of it. Messages are small and whole.
class Channel {
 public:
  using Message = nlohmann::ordered_json;
  explicit Channel(Fd fd) : fd_(std::move(fd)) {}
  // Two ends that know each other.
  static Result<std::pair<Channel, Channel>> pair();

  int fd() const { return fd_.get(); }
  int release() { return fd_.release(); }
  // Never waits. False: the other does not read, and its messages have piled up; or it is gone.
  bool send(const Message& message) const;
  // What has come; nullopt: nothing yet, or the other is gone (then `gone()`). Waits at most so
  // long.
  std::optional<Message> receive(int wait_ms);
  bool gone() const { return gone_; }

 private:
  Fd fd_;
  bool gone_ = false;
};

}  // namespace lockkeeper::crew
