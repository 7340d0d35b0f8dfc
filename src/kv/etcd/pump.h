// For link.cc alone: the thread of a link, its HTTP/2 session, and the calls on it.
#pragma once

#include <nghttp2/nghttp2.h>

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "kv/etcd/link.h"
#include "kv/etcd/socket.h"

namespace lockkeeper::kv::etcd {

// A call or a stream. Fields without a note are protected by the pump's mutex.
struct Call {
  Call(std::string to, Metadata with, std::string_view message);

  const std::string path;
  const Metadata metadata;
  std::optional<Deadline> until;  // set before it is submitted, as the next two
  Link::Ears ears;                // empty: somebody waits
  std::uint64_t id = 0;           // on this pump
  bool no_more = false;           // nothing is said after `to_say`
  std::string to_say;             // framed messages that the session has not taken
  std::condition_variable done_now;
  bool done = false;
  Answer answer;

  // The pump's thread alone.
  std::int32_t stream = 0;
  std::string heard;  // not a whole frame yet, or the one answer
  std::string status_text;
  std::string http_status;
  bool too_long = false;
};

class Pump {
 public:
  Pump(Socket socket, std::string scheme, std::string authority);
  ~Pump();
  Pump(const Pump&) = delete;
  Pump& operator=(const Pump&) = delete;

  Result<void> start();
  void submit(const std::shared_ptr<Call>& call);
  Answer wait(Call& call);  // until it is done or its deadline has come
  void say(std::uint64_t id, std::string_view message);
  void cancel(std::uint64_t id);
  bool alive() const;
  void retire();

 private:
  friend struct PumpCallbacks;
  using Calls = std::map<std::uint64_t, std::shared_ptr<Call>>;

  void run();
  bool turn();  // false: the connection has ended
  void take_orders();
  bool begin(Call& call);
  bool send();
  bool receive();
  void wake();
  void finish(Call& call, Answer::End end);
  static void fill(Call& call, Answer::End end);
  void hear(Call& call, std::string_view bytes);
  void end_all();

  Socket socket_;
  const std::string scheme_;
  const std::string authority_;
  Fd wake_read_, wake_write_;
  nghttp2_session* session_ = nullptr;  // the thread's alone, once it runs

  mutable std::mutex mutex_;
  Calls calls_;  // all that are not done
  std::vector<std::shared_ptr<Call>> new_;
  std::vector<std::uint64_t> resumed_, cancelled_;
  std::uint64_t last_id_ = 0;
  bool alive_ = true;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace lockkeeper::kv::etcd
