#include "kv/etcd/client.h"

#include <algorithm>
#include <thread>

#include "kv/etcd/version.h"
#include "kv/etcd/version_page.h"

namespace lockkeeper::kv::etcd {
namespace {

using std::chrono::steady_clock;

// Another member, or the same a little later, may answer.
bool may_pass(const Answer& answer) {
  return answer.end != Answer::End::kAnswered || answer.status == Grpc::kUnavailable ||
         answer.status == Grpc::kDeadlineExceeded ||
         (answer.status == Grpc::kUnknown && answer.words.empty()) ||
         says(answer, "too many requests") || says(answer, "future revision");
}

// The token was forgotten, or users were changed meanwhile. Nothing was done.
bool wants_token(const Answer& answer) {
  return answer.end == Answer::End::kAnswered &&
         (answer.status == Grpc::kUnauthenticated || says(answer, "revision of auth store is old"));
}

// The server may have done what it was asked.
bool in_doubt(const Answer& answer) {
  if (answer.end != Answer::End::kAnswered) return answer.end != Answer::End::kNotSent;
  switch (answer.status) {
    case Grpc::kInvalidArgument:
    case Grpc::kNotFound:
    case Grpc::kPermissionDenied:
    case Grpc::kResourceExhausted:
    case Grpc::kFailedPrecondition:
    case Grpc::kOutOfRange:
    case Grpc::kUnauthenticated:
      return false;
    default:
      return true;
  }
}

template <class Message>
Result<Held<Message>> held(std::string bytes, const std::string& from,
                           std::optional<Message> (*decode)(std::string_view)) {
  auto kept = std::make_unique<std::string>(std::move(bytes));
  auto message = decode(*kept);
  if (!message) {
    return fail(Code::kStoreUnavailable, "the answer of the etcd at " + from + " cannot be read");
  }
  return Held<Message>{std::move(kept), std::move(*message)};
}

}  // namespace

Client::Client(Address address, Patience patience, std::shared_ptr<const TlsFiles> files)
    : address_(std::move(address)), patience_(patience), files_(std::move(files)) {}

Result<std::unique_ptr<Client>> Client::open(Address address, Patience patience) {
  std::shared_ptr<const TlsFiles> files;
  if (address.tls) {
    LK_ASSIGN(files, TlsFiles::read(address));
  }
  std::unique_ptr<Client> client(new Client(std::move(address), patience, std::move(files)));
  LK_CHECK(client->link(steady_clock::now() + patience.all));
  return client;
}

Metadata Client::metadata() const {
  // A member that is cut off from the others then says so instead of waiting.
  Metadata metadata = {{"hasleader", "true"}};
  const std::lock_guard lock(mutex_);
  if (!token_.empty()) metadata.emplace_back("token", token_);
  return metadata;
}

Result<std::shared_ptr<Link>> Client::link(Deadline until) {
  const auto current = [&]() -> std::shared_ptr<Link> {
    const std::lock_guard lock(mutex_);
    return link_ != nullptr && link_->alive() ? link_ : nullptr;
  };
  if (auto found = current()) return found;
  const std::unique_lock turn(connecting_, until);
  if (!turn.owns_lock()) {
    return fail(Code::kStoreUnavailable, "no etcd could be reached in time", "is one running?");
  }
  if (auto found = current()) return found;
  std::optional<Error> first;
  const std::size_t count = address_.endpoints.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Endpoint& endpoint = address_.endpoints[(next_ + i) % count];
    auto made = connect(endpoint, std::min(until, steady_clock::now() + patience_.attempt));
    if (made) {
      const std::lock_guard lock(mutex_);
      next_ = (next_ + i) % count;
      link_ = *made;
      return made;
    }
    // What somebody must do something about is told rather than that another is down.
    const bool worse = first && first->message.find("cannot be reached") != std::string::npos;
    if (!first || worse) first = std::move(made.error());
  }
  return fail(std::move(*first));
}

Result<std::shared_ptr<Link>> Client::connect(const Endpoint& endpoint, Deadline until) {
  LK_ASSIGN(std::shared_ptr<Link> link, Link::open(endpoint, files_, until));
  if (!address_.user.empty()) LK_CHECK(authenticate(*link, until));
  const Answer answer = link->call(kStatus, metadata(), {}, until);
  if (answer.status == Grpc::kPermissionDenied && !address_.user.empty()) {
    // For administrators alone. That it is a learner or has no leader, it says at each call.
    const auto version = read_version_page(endpoint, files_, until);
    if (!version && !address_.allow_old) return fail(version.error());
    if (version) LK_CHECK(check_version(*version, true, address_.allow_old, endpoint.name()));
    return link;
  }
  if (!is_ok(answer)) return fail(to_error(answer, endpoint.name()));
  const auto status = decode_status(answer.body);
  if (!status) {
    return fail(Code::kStoreUnavailable,
                "the answer of the etcd at " + endpoint.name() + " cannot be read");
  }
  LK_CHECK(
      check_version(status->version, !address_.user.empty(), address_.allow_old, endpoint.name()));
  if (status->is_learner) {
    return fail(Code::kStoreUnavailable,
                "the etcd at " + endpoint.name() + " is a learner, which does not decide anything",
                "name the voting members in the address");
  }
  if (status->leader == 0) {
    return fail(Code::kStoreUnavailable, "the etcd at " + endpoint.name() +
                                             " cannot be reached by enough others: no leader");
  }
  return link;
}

Result<void> Client::authenticate(Link& link, Deadline until) {
  LK_ASSIGN(std::string token, etcd::authenticate(link, address_, until));
  const std::lock_guard lock(mutex_);
  token_ = std::move(token);
  return {};
}

void Client::leave(const std::shared_ptr<Link>& link) {
  {
    const std::lock_guard lock(mutex_);
    if (link_ != link) return;
    link_.reset();
    next_ = (next_ + 1) % address_.endpoints.size();
  }
  link->retire();
}

Client::Reply Client::once(const std::string& path, std::string_view message, Deadline until) {
  Reply reply;
  for (int tries = 0; tries < 2; ++tries) {
    const auto found = link(until);
    if (!found) {
      reply.error = found.error();
      return reply;
    }
    const std::shared_ptr<Link>& link = *found;
    reply.from = link->endpoint().name();
    if (path == kRange) ++ranges_;
    if (path == kTxn) ++transactions_;
    reply.answer = link->call(path, metadata(), message, until);
    reply.error = to_error(reply.answer, reply.from);
    if (wants_token(reply.answer) && !address_.user.empty() && tries == 0) {
      if (auto renewed = authenticate(*link, until); renewed) continue;
    }
    if (may_pass(reply.answer)) leave(link);
    // The link was given up between finding and using it.
    if (reply.answer.end != Answer::End::kNotSent) break;
  }
  return reply;
}

Client::Reply Client::asked_until_answered(const std::string& path, std::string_view message) {
  const Deadline until = steady_clock::now() + patience_.all;
  while (true) {
    Reply reply = once(path, message, std::min(until, steady_clock::now() + patience_.attempt));
    if (reply.ok() || !may_pass(reply.answer)) return reply;
    // A member that refuses at once is not asked in a circle without pause.
    const auto pause = std::chrono::milliseconds(50);
    if (steady_clock::now() + pause >= until) return reply;
    std::this_thread::sleep_for(pause);
  }
}

Result<Held<RangeResponse>> Client::range(const RangeRequest& request) {
  Reply reply = asked_until_answered(kRange, encode(request));
  if (!reply.ok()) return fail(std::move(reply.error));
  return held(std::move(reply.answer.body), reply.from, decode_range);
}

TxnAnswer Client::txn(const TxnRequest& request) {
  TxnAnswer txn;
  Reply reply = once(kTxn, encode(request), steady_clock::now() + patience_.attempt);
  if (!reply.ok()) {
    txn.end = in_doubt(reply.answer) ? TxnAnswer::End::kDoubt : TxnAnswer::End::kRefused;
    txn.lease_gone = says(reply.answer, "requested lease not found");
    txn.error = std::move(reply.error);
    return txn;
  }
  auto response = held(std::move(reply.answer.body), reply.from, decode_txn);
  if (!response) {
    txn.error = std::move(response.error());
    return txn;
  }
  txn.end = TxnAnswer::End::kDone;
  txn.response = std::move(*response);
  return txn;
}

Result<void> Client::grant_lease(std::uint64_t id, std::int64_t ttl_s) {
  Reply reply = asked_until_answered(kLeaseGrant, encode_lease_grant(id, ttl_s));
  // An earlier attempt of this call has granted it: nobody else has that id.
  if (reply.ok() || says(reply.answer, "lease already exists")) return {};
  return fail(std::move(reply.error));
}

Result<std::uint64_t> Client::keep_lease(std::uint64_t id) {
  Reply reply = asked_until_answered(kLeaseKeepAlive, encode_keep_alive(id));
  if (says(reply.answer, "requested lease not found")) return 0;
  if (!reply.ok()) return fail(std::move(reply.error));
  const auto ttl = decode_keep_alive(reply.answer.body);
  if (ttl) return *ttl;
  return fail(Code::kStoreUnavailable, "the answer of the etcd at " + reply.from + " is malformed");
}

Result<Status> Client::status() {
  Reply reply = asked_until_answered(kStatus, {});
  if (!reply.ok()) return fail(std::move(reply.error));
  auto status = decode_status(reply.answer.body);
  if (status) return std::move(*status);
  return fail(Code::kStoreUnavailable, "the answer of the etcd at " + reply.from + " is malformed");
}

Result<Client::Stream> Client::watch(std::string_view first, Link::Ears ears) {
  Stream stream;
  LK_ASSIGN(stream.link, link(steady_clock::now() + patience_.attempt));
  stream.id = stream.link->open_stream(kWatch, metadata(), first, std::move(ears));
  return stream;
}

}  // namespace lockkeeper::kv::etcd
