// An etcd of one or more members: the connection to one of them, kept, and moved to another when it
// no longer serves. Learners are passed over, and so are servers with known faults.
//
// Questions that change nothing are asked again elsewhere until their deadline. A transaction is
// sent once, unless the server cannot have seen it; whether it happened may then be in doubt.
//
// Thread safety: any thread may call.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "kv/etcd/address.h"
#include "kv/etcd/ask.h"
#include "kv/etcd/link.h"
#include "kv/etcd/messages.h"

namespace lockkeeper::kv::etcd {

struct Patience {
  std::chrono::milliseconds attempt{2000};  // with one member
  std::chrono::milliseconds all{6000};      // until a call fails; a leader election takes about 2 s
};

// An answer with the bytes that its message points into.
template <class Message>
struct Held {
  std::unique_ptr<std::string> bytes;
  Message message;
};

// How a transaction ended, as far as we know.
struct TxnAnswer {
  enum class End { kDone, kRefused, kDoubt };
  End end = End::kDoubt;
  Held<TxnResponse> response;  // kDone
  Error error;                 // kRefused: it has not happened. kDoubt: why we do not know
  bool lease_gone = false;     // kRefused because of a lease that it names
};

class Client {
 public:
  // Reaches one member, or says why none will do:
  //   store_unavailable  none can be reached, or those that can are too old
  //   invalid_input      a file of the address cannot be used
  static Result<std::unique_ptr<Client>> open(Address address, Patience patience = {});

  Result<Held<RangeResponse>> range(const RangeRequest& request);
  TxnAnswer txn(const TxnRequest& request);

  // A lease with an id that we chose. Asking twice grants it once.
  Result<void> grant_lease(std::uint64_t id, std::int64_t ttl_s);
  // Seconds from now; 0: it is gone. Success does not prove that it is still there: a member that
  // was stopped for a while can believe so.
  Result<std::uint64_t> keep_lease(std::uint64_t id);
  Result<Status> status();

  // A stream for a watch; see Link. `link` must be kept for as long as it is used.
  struct Stream {
    std::shared_ptr<Link> link;
    std::uint64_t id = 0;
  };
  Result<Stream> watch(std::string_view first, Link::Ears ears);

  // How often rows were asked for or a transaction was sent, for tests and figures.
  struct Asked {
    std::uint64_t ranges = 0;
    std::uint64_t transactions = 0;
  };
  Asked asked() const { return {ranges_, transactions_}; }

  // Stop using this link: it does not answer as it should.
  void leave(const std::shared_ptr<Link>& link);

  const std::string& prefix() const { return address_.prefix; }
  const Patience& patience() const { return patience_; }

 private:
  struct Reply {
    Answer answer;
    Error error;  // if there is no link: why
    std::string from;
    bool ok() const { return is_ok(answer); }
  };

  Client(Address address, Patience patience, std::shared_ptr<const TlsFiles> files);
  Result<std::shared_ptr<Link>> link(Deadline until);
  Result<std::shared_ptr<Link>> connect(const Endpoint& endpoint, Deadline until);
  Result<void> authenticate(Link& link, Deadline until);
  Reply once(const std::string& path, std::string_view message, Deadline until);
  Reply asked_until_answered(const std::string& path, std::string_view message);
  Metadata metadata() const;

  const Address address_;
  const Patience patience_;
  const std::shared_ptr<const TlsFiles> files_;
  std::timed_mutex connecting_;  // one at a time looks for a member
  mutable std::mutex mutex_;     // the rest
  std::shared_ptr<Link> link_;
  std::size_t next_ = 0;  // the endpoint to try first
  std::string token_;
  std::atomic<std::uint64_t> ranges_ = 0, transactions_ = 0;
};

}  // namespace lockkeeper::kv::etcd
