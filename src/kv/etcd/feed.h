// Keeps a copy of a store's rows up to date: loads it, follows a watch, goes on from the last
// revision when the watch ends, and loads it again when something was missed. All on a thread of
// its own. There is no view of a copy that may be incomplete. What the watch tells, it passes on,
// also where there is no copy: a hint and nothing more, because it can be late.
//
// A copy may always be behind, without anybody knowing. Whoever needs the newest state asks etcd
// for its revision, and then for a view at that one.
//
// Thread safety: any thread may call.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kv/etcd/client.h"
#include "kv/etcd/copy.h"
#include "kv/etcd/keys.h"
#include "kv/etcd/reader.h"
#include "kv/etcd/revisions.h"

namespace lockkeeper::kv::etcd {

class Feed {
 public:
  // Gets the keys of rows that were put or erased, or vanished. No keys: some changes may not have
  // been heard, since the watch begins now or begins again. Called on a thread that must not wait
  // for the store. Empty: nobody listens.
  using Heard = std::function<void(const std::vector<std::string>& keys)>;
  // `ask` asks a quorum, or any member at a revision, and looks at the header of the answer. With
  // more than `most_bytes` of rows there is no copy. `client` must outlive this.
  Feed(Client& client, Keys keys, RemoteReader::Ask ask, std::size_t most_bytes, Heard heard);
  ~Feed();       // as close()
  void start();  // once
  void close();  // neither `ask` nor `heard` is called any more
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // The copy of this epoch at its newest version. Waits a moment for `at_least`. Null: there is
  // none in step, or it does not get there in time.
  std::unique_ptr<Copy::View> view(Version epoch, Version at_least);
  // Is there a copy in step, that could have a view?
  bool has_copy(Version epoch) const;
  // What this process has committed at that version: nobody waits until the watch tells it.
  void commit(Version epoch, Version version, std::vector<Copy::Change> changes);
  // Asks up to where the watch has told everything. It answers after what it has to tell.
  void ask_progress();
  // What was read is of no use: the cluster was restored, or another epoch has begun.
  void reload();
  // Waits until a copy is in step. False: not by then.
  bool wait(std::chrono::steady_clock::time_point until);

 private:
  struct State;  // shared with a stream that may end later than this
  void run();
  Revisions::Next turn();
  Result<Held<RangeResponse>> ask_for_epoch();
  Result<bool> still_fits(const Copy& copy);
  Result<std::shared_ptr<Copy>> load();
  Revisions::Next follow(const std::shared_ptr<Copy>& copy,
                         std::chrono::steady_clock::time_point until);

  Client& client_;
  const RemoteReader::Ask ask_;
  const std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace lockkeeper::kv::etcd
