// Lanes keep a late transaction from following a newer one.
//
// A transaction that was not answered may still be applied, seconds later, when what it was
// compared with holds again. So each one compares and rewrites a lane: a row that no other
// transaction on its way uses. As long as a lane is as its last user left it, that user's request
// has not arrived. To rewrite it then (a fence) ends the doubt: the request can never be applied
// any more.
//
// A store makes as many lanes as it has transactions on their way at once. They live on the store's
// lease. A lane that vanished with it is not made again under its name, so a request that names it
// can never be applied either.
//
// Thread safety: any thread may call; a Lane belongs to whoever took it.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kv/etcd/client.h"
#include "kv/etcd/session.h"
#include "kv/types.h"

namespace lockkeeper::kv::etcd {

struct Lane {
  std::string key;
  Version modified = 0;  // of its row, as its last user left it
  std::uint64_t lease = 0;
  std::uint64_t life = 0;  // of the lanes, see forget_all()
  std::string request;     // the one in doubt
};

class Lanes {
 public:
  // Sends a transaction, and looks at the header of its answer.
  using Send = std::function<TxnAnswer(const TxnRequest& request)>;
  Lanes(std::string folder, Session& session, Send send, std::chrono::milliseconds patience);

  // A lane that nobody uses, with a fresh name for a request. Requests that are still in doubt are
  // fenced first, so none of them can follow this one; store_unavailable if that fails.
  Result<Lane> take();
  void give_back(Lane lane);  // REQUIRES: its `modified` is known
  // The lane is not as it was left, or its lease is gone: it is not used again.
  void drop(const Lane&) {}
  // Every lane has vanished, or will.
  void forget_all();

  // What has become of the request of a lane? Fences it if it has not arrived.
  enum class Fate { kArrived, kNever, kUnknown };
  Fate resolve(Lane& lane);  // kUnknown: the lane was kept, to be fenced later
  // The same of a request that was answered, so that it cannot come later. Writes nothing.
  Fate look(Lane& lane);

  static Compare unchanged(const Lane& lane);
  static Op rewritten(const Lane& lane, const std::string& value);

 private:
  Fate keep_in_doubt(const Lane& lane);
  Result<Lane> make();
  std::string new_word(char kind);
  enum class Step { kArrived, kFenced, kVanished, kAgain };
  Step fence(Lane& lane);
  Result<void> fence_doubtful();

  Session& session_;
  const Send send_;
  const std::chrono::milliseconds patience_;
  const std::string folder_;  // of this store's lanes

  std::mutex fencing_;  // taken before mutex_
  std::mutex mutex_;
  std::vector<Lane> free_;
  std::vector<Lane> doubtful_;
  std::uint64_t life_ = 0;
  std::uint64_t made_ = 0;
  std::uint64_t words_ = 0;
};

}  // namespace lockkeeper::kv::etcd
