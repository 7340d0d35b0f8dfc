// Hears of changes of the rows, by whichever hub. A hint and nothing more: it can be late, and what
// is decided is decided by reading.
//
// Thread safety: any thread may call.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kv/etcd/client.h"
#include "kv/etcd/keys.h"

namespace lockkeeper::kv::etcd {

class Watch {
 public:
  // `heard` gets the keys of rows that were put or erased, or vanished. No keys: some changes may
  // not have been heard, since the watch begins now or begins again. It is called on a thread that
  // must not wait for the store. It is not called any more once
  // this is destroyed. `client` must outlive this.
  using Heard = std::function<void(const std::vector<std::string>& keys)>;
  Watch(Client& client, const Keys& keys, Heard heard);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  struct State;  // shared with a stream that may end later than this
  void run();

  Client& client_;
  const std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace lockkeeper::kv::etcd
