#include "mcp/http/streamable.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "mcp/http/http_headers.h"

namespace lockkeeper::mcp {
namespace {

constexpr const char* kSessionHeader = "Mcp-Session-Id";
constexpr const char* kRevisionHeader = "MCP-Protocol-Version";

std::string new_session_id() {
  constexpr int kWords = 4;  // 256 bits
  SystemRandom random;
  std::string bytes;
  for (int i = 0; i < kWords; ++i) append_be64(bytes, random.next());
  return to_hex(bytes);
}

// Says nothing about the secret that it is made of.
std::string visitor_name(const std::string& secret) {
  constexpr std::size_t kDigits = 16;
  return "http-" + sha256_hex(secret).substr(0, kDigits);
}

void refuse(const std::shared_ptr<http::Reply>& reply, int status, const Json& id,
            const RpcError& error) {
  answer_json(*reply, status, error_response(id, error));
}

// Plain text if there is no request to answer.
void refuse_session(const std::shared_ptr<http::Reply>& reply, int status, const Json& id,
                    const std::string& message) {
  if (id.is_null()) return answer_text(*reply, status, message);
  refuse(reply, status, id, {code::kInvalidRequest, message});
}

// Which era's rules apply? Legacy only if nothing in the request is modern.
bool is_modern_request(const http::Request& request, const Incoming& message) {
  if (request.header(kSessionHeader) != nullptr) return false;
  if (is_modern(message.params)) return true;
  const std::string* const revision = request.header(kRevisionHeader);
  return revision != nullptr && !is_legacy_revision(*revision);
}

std::optional<RpcError> wrong_meta(const http::Request& request, const Incoming& message) {
  const std::string* const header = request.header(kRevisionHeader);
  if (header == nullptr) {
    return RpcError{code::kHeaderMismatch,
                    std::string("the header ") + kRevisionHeader + " is missing"};
  }
  const Json& meta = meta_of(message.params);
  const auto revision = meta.find(kMetaRevision);
  if (revision == meta.end() || !revision->is_string()) {
    return RpcError{code::kInvalidParams,
                    std::string("_meta: ") + kMetaRevision + " is missing or not a string"};
  }
  const auto capabilities = meta.find(kMetaCapabilities);
  if (capabilities == meta.end() || !capabilities->is_object()) {
    return RpcError{code::kInvalidParams,
                    std::string("_meta: ") + kMetaCapabilities + " is missing or not an object"};
  }
  if (*header == revision->get_ref<const std::string&>()) return std::nullopt;
  return RpcError{code::kHeaderMismatch, std::string("the header ") + kRevisionHeader + " says " +
                                             quote(*header) + ", _meta says " +
                                             quote(revision->get<std::string>())};
}

// The session's answer to initialize, which comes at once.
class Heard final : public Outlet {
 public:
  void send(const Json& message) override { message_ = message; }
  const Json& message() const { return message_; }

 private:
  Json message_;
};

Incoming cancellation(const Json& id) {
  Incoming message;
  message.kind = Incoming::Kind::kNotification;
  message.method = "notifications/cancelled";
  message.params = {{"requestId", id}};
  return message;
}

void cancel(Session& session, const HttpStream& stream) {
  for (const Json& id : stream.ids()) session.take(cancellation(id), nullptr);
}

}  // namespace

void Streamable::handle(const http::Request& request, const Reply& reply) {
  if (request.path() != options_.path) {
    return answer_text(*reply, 404, "there is nothing here; the endpoint is " + options_.path);
  }
  if (request.method == "POST") return post(request, reply);
  // GET and DELETE are for sessions.
  const bool named = request.header(kSessionHeader) != nullptr;
  if (request.method == "GET" && named) return get(request, reply);
  if (request.method == "DELETE" && named) return remove(request, reply);
  answer_text(*reply, 405, "POST a JSON-RPC message", {{"Allow", "POST, GET, DELETE"}});
}

void Streamable::post(const http::Request& request, const Reply& reply) {
  if (!http::is_json(request)) {
    return answer_text(*reply, 415, "the body must be JSON: Content-Type: application/json");
  }
  if (!accepts(request, "application/json") || !accepts(request, "text/event-stream")) {
    return answer_text(*reply, 406,
                       "the answer may be either: Accept: application/json, text/event-stream");
  }
  const Parsed parsed = parse(request.body);
  const Incoming& first = parsed.messages.front();
  if (parsed.batch) return legacy(request, parsed, reply);
  if (first.kind == Incoming::Kind::kBroken) return refuse(reply, 400, first.id, first.error);
  if (is_modern_request(request, first)) return modern(request, first, reply);
  const bool opens = first.kind == Incoming::Kind::kRequest && first.method == "initialize";
  if (opens && request.header(kSessionHeader) == nullptr) return initialize(first, reply);
  legacy(request, parsed, reply);
}

// --- modern --------------------------------------------------------------------------------------

void Streamable::modern(const http::Request& request, const Incoming& message, const Reply& reply) {
  if (message.kind != Incoming::Kind::kRequest) return reply->whole(202, {}, "");
  if (const auto wrong = wrong_meta(request, message)) {
    return refuse(reply, 400, message.id, *wrong);
  }
  // The headers of an unknown revision are not checked; the session refuses it.
  if (*request.header(kRevisionHeader) == kModernRevision) {
    if (const auto wrong = header_mismatch(request, message, catalogue_)) {
      return refuse(reply, 400, message.id, *wrong);
    }
  }
  const Visitor visitor = visitor_of(request, message);
  const auto session = std::make_shared<Session>(catalogue_, pool_, visitor);
  seen(visitor.name);
  HttpStream::Kind kind;
  kind.ids = {message.id};
  kind.modern = true;
  const auto stream = std::make_shared<HttpStream>(kind, reply);
  const bool listens = message.method == "subscriptions/listen";
  if (listens) {
    audience_.add(session);
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    listening_.push_back({visitor.name, session, stream});
    present_[visitor.name].streamed = true;
  }
  reply->on_gone([this, listens, weak = std::weak_ptr(session)] {
    const auto left = weak.lock();
    if (!left) return;
    left->close();
    if (!listens) return;
    const std::lock_guard lock(mutex_);
    std::erase_if(listening_, [&](const Listening& each) { return each.session == left; });
  });
  session->take(message, stream);
}

// --- legacy --------------------------------------------------------------------------------------

void Streamable::initialize(const Incoming& message, const Reply& reply) {
  const std::string id = new_session_id();
  const auto visit = std::make_shared<Visit>();
  visit->visitor = visitor_name(id);
  visit->session = std::make_shared<Session>(catalogue_, pool_, Visitor{visit->visitor, true});
  visit->used = Clock::now();
  audience_.add(visit->session);
  const auto heard = std::make_shared<Heard>();
  visit->session->take(message, heard);
  const auto result = heard->message().find("result");
  if (result == heard->message().end()) return answer_json(*reply, 200, heard->message());
  visit->revision = result->value("protocolVersion", "");
  std::shared_ptr<Visit> removed;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    if (visits_.size() >= options_.sessions_max) {
      const auto oldest =
          std::ranges::min_element(visits_, {}, [](const auto& each) { return each.second->used; });
      removed = oldest->second;
      visits_.erase(oldest);
    }
    visits_[id] = visit;
  }
  if (removed) end(*removed);
  seen(visit->visitor);
  answer_json(*reply, 200, heard->message(), {{kSessionHeader, id}});
}

void Streamable::end(const Visit& visit) {
  visit.session->close();
  for (const auto& each : visit.shelf->all()) each->finish();
  if (visit.listener) visit.listener->finish();
}

std::shared_ptr<Streamable::Visit> Streamable::visit_of(const http::Request& request,
                                                        const Json& id, const Reply& reply) {
  const std::string* const name = request.header(kSessionHeader);
  if (name == nullptr) {
    refuse_session(reply, 400, id,
                   std::string("the header ") + kSessionHeader + " is missing: initialize first");
    return nullptr;
  }
  const std::string* const revision = request.header(kRevisionHeader);
  if (revision != nullptr && !is_legacy_revision(*revision)) {
    refuse_session(reply, 400, id, "the revision " + quote(*revision) + " has no sessions");
    return nullptr;
  }
  std::shared_ptr<Visit> visit;
  {
    const std::lock_guard lock(mutex_);
    const auto found = visits_.find(*name);
    if (found != visits_.end()) visit = found->second;
    if (visit) visit->used = Clock::now();
  }
  if (visit) {
    seen(visit->visitor);
    return visit;
  }
  refuse_session(reply, 404, id, "there is no such session, or it has ended: initialize again");
  return nullptr;
}

void Streamable::legacy(const http::Request& request, const Parsed& parsed, const Reply& reply) {
  const Incoming& first = parsed.messages.front();
  const auto visit = visit_of(request, parsed.batch ? Json() : first.id, reply);
  if (!visit) return;
  if (parsed.batch && visit->revision != "2025-03-26") {
    return refuse(reply, 400, nullptr, {code::kInvalidRequest, "this revision has no batches"});
  }
  std::vector<Json> ids;
  for (const Incoming& each : parsed.messages) {
    const bool answered =
        each.kind == Incoming::Kind::kRequest || each.kind == Incoming::Kind::kBroken;
    if (answered) ids.push_back(each.id);
  }
  if (ids.empty()) {
    for (const Incoming& each : parsed.messages) visit->session->take(each, nullptr);
    return reply->whole(202, {}, "");
  }
  HttpStream::Kind kind;
  kind.ids = std::move(ids);
  kind.number = visit->shelf->next_number();
  kind.shelf = visit->shelf;
  kind.primes = visit->revision >= "2025-11-25";
  const auto stream = std::make_shared<HttpStream>(kind, reply);
  reply->on_gone(
      [weak = std::weak_ptr(stream), session = std::weak_ptr(visit->session), which = reply.get()] {
        const auto left = weak.lock();
        const auto of = session.lock();
        if (left && of && !left->lost(which)) cancel(*of, *left);
      });
  if (parsed.batch) return visit->session->take_text(request.body, stream);
  visit->session->take(first, stream);
}

void Streamable::get(const http::Request& request, const Reply& reply) {
  if (!accepts(request, "text/event-stream")) {
    return answer_text(*reply, 406, "the answer is a stream: Accept: text/event-stream");
  }
  const auto visit = visit_of(request, nullptr, reply);
  if (!visit) return;
  const std::string* const last = request.header("Last-Event-ID");
  const auto seen = last == nullptr ? std::nullopt : parse_event_id(*last);
  const bool listens = last == nullptr || (seen && seen->stream == 0);
  std::shared_ptr<HttpStream> stream;
  if (listens) {
    stream = listener_of(*visit);
  } else if (seen) {
    stream = visit->shelf->find(seen->stream);
  }
  if (!stream) return answer_text(*reply, 400, "that event is no longer kept");
  reply->on_gone([weak = std::weak_ptr(stream), which = reply.get()] {
    if (const auto left = weak.lock()) left->lost(which);
  });
  stream->resume(reply, seen ? std::optional(seen->number) : std::nullopt);
  if (!listens) return;
  visit->session->set_listener(stream);
  const std::lock_guard lock(mutex_);
  present_[visit->visitor].streamed = true;
}

std::shared_ptr<HttpStream> Streamable::listener_of(Visit& visit) {
  const std::lock_guard lock(mutex_);
  if (!visit.listener) {
    HttpStream::Kind kind;
    kind.listens = true;
    kind.number = 0;
    kind.primes = visit.revision >= "2025-11-25";
    visit.listener = std::make_shared<HttpStream>(kind, nullptr);
  }
  return visit.listener;
}

void Streamable::remove(const http::Request& request, const Reply& reply) {
  const auto visit = visit_of(request, nullptr, reply);
  if (!visit) return;
  {
    const std::lock_guard lock(mutex_);
    visits_.erase(*request.header(kSessionHeader));
  }
  end(*visit);
  {
    const std::lock_guard lock(mutex_);
    present_.erase(visit->visitor);
    announcer_->note(visit->visitor, Announcer::News::kLeft);
  }
  announcer_->tell();
  reply->whole(204, {}, "");
}

// --- who is there --------------------------------------------------------------------------------

// A modern client has no session. Its token tells it apart from others, if theirs differ.
Visitor Streamable::visitor_of(const http::Request& request, const Incoming& message) const {
  const std::string* const token = request.header("Authorization");
  const Json& meta = meta_of(message.params);
  const auto info = meta.find(kMetaClient);
  const bool named = info != meta.end() && info->is_object();
  const std::string client = named ? line_of(info->value("name", Json())) : std::string();
  return {visitor_name((token == nullptr ? "" : *token) + "\n" + client), options_.tokens_differ};
}

void Streamable::seen(const std::string& visitor) {
  {
    const std::lock_guard lock(mutex_);
    const auto [found, added] = present_.try_emplace(visitor);
    found->second = {Clock::now(), false};
    if (!added) return;
    announcer_->note(visitor, Announcer::News::kArrived);
  }
  announcer_->tell();
}

// Notes those that are no longer there. REQUIRES: the lock is held.
void Streamable::note_gone(Clock::time_point now) {
  for (const auto& [id, visit] : visits_) {
    const bool listens = visit->listener && visit->listener->unattended().count() == 0;
    const auto found = present_.find(visit->visitor);
    if (listens && found != present_.end()) found->second = {now, true};
  }
  for (const Listening& each : listening_) {
    const auto found = present_.find(each.visitor);
    if (found != present_.end()) found->second = {now, true};
  }
  std::erase_if(present_, [&](const auto& entry) {
    const Presence& presence = entry.second;
    const auto patience = presence.streamed ? Clock::duration::zero() : options_.visitor_idle;
    const bool left = now - presence.seen > patience;
    if (left) announcer_->note(entry.first, Announcer::News::kGone);
    return left;
  });
}

// --- timeouts ------------------------------------------------------------------------------------

void Streamable::sweep() {
  const auto now = Clock::now();
  std::vector<std::shared_ptr<Visit>> visits;
  std::vector<std::shared_ptr<Visit>> ended;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, visit] : visits_) {
      const bool heard = visit->listener && visit->listener->unattended().count() == 0;
      if (heard || !visit->shelf->all().empty()) visit->used = now;
      (now - visit->used > options_.session_idle ? ended : visits).push_back(visit);
    }
    std::erase_if(visits_, [&](const auto& each) {
      return std::ranges::find(ended, each.second) != ended.end();
    });
    std::erase_if(listening_, [](const Listening& each) { return each.stream->is_over(); });
    note_gone(now);
  }
  for (const auto& each : ended) end(*each);
  announcer_->tell();
  // Finished streams go too: nobody has reconnected to them.
  for (const auto& visit : visits) {
    for (const auto& stream : visit->shelf->take_unattended(options_.resume_within)) {
      if (!stream->is_over()) cancel(*visit->session, *stream);
    }
  }
}

void Streamable::close() {
  std::map<std::string, std::shared_ptr<Visit>> visits;
  std::vector<Listening> listening;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    visits.swap(visits_);
    listening.swap(listening_);
  }
  for (const auto& [id, visit] : visits) end(*visit);
  for (const Listening& each : listening) each.session->close();
}

Result<void> serve_http(Streamable& endpoint, http::Door door, int ended,
                        const std::function<void(const http::Address&)>& listening,
                        const http::Limits& limits) {
  http::Options options;
  options.door = std::move(door);
  options.limits = limits;
  options.limits.body_bytes = std::min(limits.body_bytes, kMessageBytesMax);
  options.every_second = [&endpoint] { endpoint.sweep(); };
  options.at_end = [&endpoint] { endpoint.close(); };
  LK_ASSIGN(const auto server,
            http::Server::open(std::move(options),
                               [&endpoint](const http::Request& request,
                                           const std::shared_ptr<http::Reply>& reply) {
                                 endpoint.handle(request, reply);
                               }));
  listening(server->address());
  server->run(ended);
  return {};
}

}  // namespace lockkeeper::mcp
