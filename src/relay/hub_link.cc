#include "relay/hub_link.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/text.h"

namespace lockkeeper::relay {
namespace {

constexpr std::size_t kIdleMax = 8;
constexpr auto kAgainTime = std::chrono::milliseconds(50);
constexpr auto kAgainMax = std::chrono::milliseconds(400);  // with several addresses
constexpr auto kDoubtTime = std::chrono::seconds(3);        // for a hub that is started again
constexpr int kPatienceMs = 3'000;                          // with one address, if there are others
constexpr const char* kOffline =
    "nothing is decided without the hub ([server] offline = \"refuse\"); ";

int ms_until(std::chrono::steady_clock::time_point time) {
  using Clock = std::chrono::steady_clock;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(time - Clock::now());
  return std::max<int>(0, static_cast<int>(left.count()));
}

std::int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

http::Endpoint endpoint_of(const realm::ServerUrl& url, const realm::Login& login) {
  http::Endpoint endpoint;
  endpoint.tls = url.tls;
  endpoint.host = url.host;
  endpoint.port = url.port;
  endpoint.socket = url.socket;
  endpoint.ca_files = login.ca_files;
  endpoint.fingerprints = login.fingerprints;
  return endpoint;
}

}  // namespace

std::string text_at(const Json& json, const char* name) {
  const Json& found = json.is_object() && json.contains(name) ? json[name] : Json();
  return found.is_string() ? found.get<std::string>() : "";
}

const Json& object_at(const Json& json, const char* name) {
  static const Json kNone;
  if (!json.is_object() || !json.contains(name) || !json.at(name).is_object()) return kNone;
  return json.at(name);
}

// What came of one try.
struct HubLink::Try {
  enum class Came {
    kAnswer,
    kFault,  // no other address will do better
    kOther,  // another one may
  };
  Result<std::string> text;
  Came came = Came::kAnswer;
  bool unanswered = false;  // it was asked, and may have done it
  bool used = false;        // on a connection that was older
  bool said = false;        // by the hub itself, and not of itself
  std::string body = {};    // what it said
};

// All tries of one call.
struct HubLink::Tries {
  explicit Tries(std::size_t count, int ms)
      : until(Clock::now() + std::chrono::milliseconds(ms)), tried(count), failed(count) {}
  const Clock::time_point until;
  std::vector<bool> tried;                 // in this round
  std::vector<std::optional<Try>> failed;  // by address
  bool used = false;                       // in this round
  bool unanswered = false;                 // in this round
  bool perhaps_done = false;               // ever
};

HubLink::HubLink(const realm::ServerUrls& urls, const realm::Login& login)
    : login_(realm::text_of(urls)),
      names_((urls.size() > 1 ? "one of " : "") + join(realm::texts_of(urls), ", ")),
      token_(login.token),
      rotation_(urls.size()) {
  for (const realm::ServerUrl& url : urls) {
    all_.push_back({url.text(), endpoint_of(url, login), {}});
  }
}

HubLink::~HubLink() = default;

std::unique_ptr<http::Client> HubLink::take(std::size_t at) {
  const std::lock_guard hold(mutex_);
  auto& idle = all_[at].idle;
  if (idle.empty()) return std::make_unique<http::Client>(all_[at].endpoint);
  std::unique_ptr<http::Client> client = std::move(idle.back());
  idle.pop_back();
  return client;
}

void HubLink::keep(std::size_t at, std::unique_ptr<http::Client> client) {
  const std::lock_guard hold(mutex_);
  auto& idle = all_[at].idle;
  if (idle.size() < kIdleMax) idle.push_back(std::move(client));
}

void HubLink::failed(std::size_t at) {
  rotation_.failed(at, now_ms());
  const std::lock_guard hold(mutex_);
  if (all_.size() > 1) all_[at].idle.clear();  // they lead to nobody either
}

// --- one try -------------------------------------------------------------------------------------

HubLink::Try HubLink::read(std::size_t at, http::Answered answered) const {
  constexpr std::string_view kErrorStart = "{\"error\":";  // as service/wire writes it
  const std::string& name = all_[at].name;
  const bool good = answered.status == 200;
  if (good && !answered.body.starts_with(kErrorStart)) return {std::move(answered.body)};
  if (answered.status == 401) {
    return {
        .text = fail(Code::kOperationNotPermitted, "the hub " + name + " does not know your token",
                     "log in again: lockkeeper login " + login_),
        .came = Try::Came::kOther};
  }
  const Json json = Json::parse(answered.body, nullptr, false);
  const Json& error = object_at(json, "error");
  const auto code = code_from_name(text_at(error, "code"));
  if (code == Code::kStoreUnavailable) {
    return {.text = fail(*code, text_at(error, "message"), text_at(error, "hint")),
            .came = Try::Came::kOther,
            .said = true,
            .body = good ? std::move(answered.body) : ""};
  }
  if (good) return {std::move(answered.body)};
  if (code) return {fail(*code, text_at(error, "message"), text_at(error, "hint"))};
  return {.text = fail(
              Code::kStoreUnavailable,
              "the hub " + name + " has answered with status " + std::to_string(answered.status),
              "is that a hub of lockkeeper, in the same version?"),
          .came = Try::Came::kOther};
}

// `ms` for what comes before it, and for itself, but not beyond `until`.
HubLink::Try HubLink::ask(std::size_t at, const HubCall& call, int ms, Clock::time_point until) {
  if (call.before) {
    auto ready = call.before(at, ms);
    if (ready && ms_until(until) == 0) {
      ready = fail(Code::kStoreUnavailable, "the hub " + all_[at].name + " has answered too late",
                   "ask again");
    }
    if (!ready) {
      Error& error = ready.error();
      const bool other = is_silence(error.code) || error.code == Code::kOperationNotPermitted;
      if (error.code == Code::kUnknown) error.code = Code::kStoreUnavailable;  // not this call
      return {.text = fail(std::move(error)),
              .came = other ? Try::Came::kOther : Try::Came::kFault};
    }
  }
  ms = std::min(ms, std::max(1, ms_until(until)));
  http::Headers headers = {{"Content-Type", "application/json"}};
  if (!token_.empty()) headers.emplace_back("Authorization", "Bearer " + token_);
  if (call.relay) headers.emplace_back("Lockkeeper-Relay", call.relay());
  std::unique_ptr<http::Client> client = take(at);
  const bool used = client->is_used();
  auto answered = client->ask("POST", call.target, headers, call.body, ms);
  if (answered) {
    keep(at, std::move(client));
    return read(at, std::move(*answered));
  }
  Error& error = answered.error();
  const bool unanswered = error.code == Code::kUnknown;
  const bool other = is_silence(error.code) || error.code == Code::kOperationNotPermitted;
  if (error.code == Code::kStoreUnavailable) {
    error.hint = kOffline + ("is " + names_ + " running and reachable?");
  }
  return {.text = fail(std::move(error)),
          .came = other ? Try::Came::kOther : Try::Came::kFault,
          .unanswered = unanswered,
          .used = used};
}

// --- all of them ---------------------------------------------------------------------------------

// Each address once. Whoever is silent leaves time for those that come next.
std::optional<Result<HubLink::Answer>> HubLink::ask_around(const HubCall& call, Tries& tries) {
  tries.tried.assign(all_.size(), false);
  tries.used = tries.unanswered = false;
  for (bool first = true;; first = false) {
    const int left = ms_until(tries.until);
    if (left == 0 && !first) return std::nullopt;
    auto next = rotation_.next(tries.tried, now_ms());
    if (call.only) next = Rotation::Next{*call.only, 0};
    if (!next || tries.tried[next->at]) return std::nullopt;
    const std::size_t at = next->at;
    tries.tried[at] = true;
    const int share = std::max(0, left - call.held_ms) / static_cast<int>(next->after + 1);
    const int ms = next->after == 0 ? left : call.held_ms + std::min(kPatienceMs, share);
    Try one = ask(at, call, std::clamp(ms, 1, std::max(1, left)), tries.until);
    if (one.came == Try::Came::kAnswer) rotation_.answered(at);
    if (one.came != Try::Came::kOther) {
      if (!one.text) return fail(std::move(one.text.error()));
      return Answer{std::move(*one.text), at};
    }
    failed(at);
    if (call.failed) call.failed(at);
    tries.used = tries.used || one.used;
    tries.unanswered = tries.unanswered || one.unanswered;
    tries.perhaps_done = tries.perhaps_done || one.unanswered;
    tries.failed[at] = std::move(one);
  }
}

// What each of them said, or why it said nothing.
Result<HubLink::Answer> HubLink::nobody(const Tries& tries) const {
  const Try* last = nullptr;
  const Try* refused = nullptr;
  const Try* silent = nullptr;
  std::vector<std::string> why;
  for (std::size_t at = 0; at < all_.size(); ++at) {
    if (!tries.failed[at]) continue;
    last = &*tries.failed[at];
    const Error& error = last->text.error();
    if (error.code == Code::kOperationNotPermitted) refused = last;
    if (!last->said) silent = last;
    why.push_back((last->said && all_.size() > 1 ? all_[at].name + " says: " : "") + error.message);
  }
  // With one address, what it said is passed on as it is.
  const bool alone = all_.size() == 1 && !tries.perhaps_done;
  if (alone && !last->body.empty()) return Answer{last->body, 0};
  if (refused != nullptr || silent != nullptr) last = refused != nullptr ? refused : silent;
  Error error = last->text.error();
  error.message = join(why, "; ");
  if (tries.perhaps_done) {
    error.code = Code::kUnknown;
    error.hint = std::string("the hub may have done it; ") + kOffline + "once " + names_ +
                 " answers again: lockkeeper list";
  }
  return fail(std::move(error));
}

Result<HubLink::Answer> HubLink::post(const HubCall& call) {
  const auto began = Clock::now();
  auto pause = kAgainTime;
  Tries tries(all_.size(), call.ms);
  for (;;) {
    if (auto answer = ask_around(call, tries)) return std::move(*answer);
    const auto now = Clock::now();
    const bool in_doubt = tries.perhaps_done && now < began + kDoubtTime;
    const bool again = (tries.unanswered || tries.used || in_doubt) && now < tries.until;
    if (!again || call.only) return nobody(tries);
    if (tries.used) continue;
    std::this_thread::sleep_for(pause);  // whoever closes is not pressed
    if (all_.size() > 1) pause = std::min(2 * pause, kAgainMax);
  }
}

}  // namespace lockkeeper::relay
