#include "hub/hub.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "hub/openapi.h"
#include "hub/page.h"
#include "service/questions.h"

namespace lockkeeper::hub {
namespace {

// All need the stores, and more threads only contend for them. If one is on other machines, they
// mostly wait for its answers.
constexpr std::size_t kThreadsMax = 4;
constexpr std::size_t kThreadsMaxIfFar = 32;
constexpr std::size_t kPausesMax = 512;
constexpr std::size_t kQueueMax = 10'000;

bool is_public(std::string_view path) {
  return path == "/healthz" || path == "/readyz" || find_page_file(path) != nullptr;
}

// With a pass instead of a token.
bool is_login(const http::Request& request) {
  return request.method == "POST" && request.path() == "/v1/login";
}

bool changes(const http::Request& request) {
  return request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
}

// A page of another site cannot send these types without being asked first.
bool has_json(const http::Request& request) {
  const std::string* const type = request.header("Content-Type");
  return http::is_json(request) ||
         (type != nullptr && http::media_type(*type) == "application/vnd.git-lfs+json");
}

void answer_text(http::Reply& reply, int status, std::string text,
                 const char* type = "text/plain; charset=utf-8") {
  reply.whole(status, {{"Content-Type", type}, {"Cache-Control", "no-store"}}, std::move(text));
}

Answer wrong(int status, const char* message, const char* hint) {
  Answer answer = refused({Code::kUsage, message, hint});
  answer.status = status;
  return answer;
}

}  // namespace

Hub::Hub(Desk& desk, HubRealms& realms, Tokens* tokens, const service::Runtime& runtime,
         std::string version)
    : desk_(desk),
      realms_(realms),
      tokens_(tokens),
      visitors_(realms),
      feed_(realms, desk.metrics),
      rest_(desk, realms, feed_, runtime),
      coordinator_(desk, realms, runtime),
      lfs_(desk, realms),
      mcp_(desk, realms, pool_, std::move(version)),
      pool_(desk.shared != nullptr ? kThreadsMaxIfFar : kThreadsMax, kPausesMax, kQueueMax) {
  desk_.changed = [this] { feed_.poke(); };  // before anybody calls
}

// Calls that still run end with the pool, before what they use.
Hub::~Hub() {
  close();
}

// --- who -----------------------------------------------------------------------------------------

std::optional<Person> Hub::person_of(const http::Request& request) const {
  if (tokens_ == nullptr) return Person{"", kEveryRole, {"*"}};
  if (const auto token = http::bearer_of(request)) {
    auto person = tokens_->find(*token);
    return person ? std::move(person) : visitors_.find(*token);
  }
  const std::string* const key = request.header("X-API-Key");  // the coordinator's clients
  return key == nullptr ? std::nullopt : tokens_->find(*key);
}

bool Hub::admits(const http::Request& request) const {
  if (is_public(request.path())) return true;
  if (!is_login(request)) return person_of(request).has_value();
  const auto pass = http::bearer_of(request);
  return pass && visitors_.has_pass(*pass);
}

// --- what ----------------------------------------------------------------------------------------

void Hub::handle(const http::Request& request, const std::shared_ptr<http::Reply>& reply) {
  auto target = http::parse_target(request.target);
  if (!target) {
    return answer(*reply, wrong(400, "the path or query of the request is not valid",
                                "encode special characters as %xx, each name once"));
  }
  if (request.method == "GET" && request.path() == "/healthz") {
    return answer_text(*reply, 200, "ok\n");
  }
  if (request.method == "GET" && request.path() == "/readyz") {
    const bool taken = pool_.run([this, reply] { ready(*reply); });
    if (!taken) answer_text(*reply, 503, "too many requests are waiting\n");
    return;
  }
  const PageFile* const file = find_page_file(request.path());
  if (file != nullptr && request.method == "GET") return answer_page(request, *file, *reply);
  if (is_login(request)) {
    const bool taken = pool_.run([this, request, reply] { log_in(request, *reply); });
    if (!taken) answer(*reply, wrong(503, "too many requests are waiting", "try again"));
    return;
  }
  auto person = person_of(request);  // the token may have been removed since it was admitted
  if (!person) return answer(*reply, wrong(401, "the token is not known", "log in again"));
  if (changes(request) && !has_json(request)) {
    return answer(*reply, wrong(415, "the body must be JSON", "Content-Type: application/json"));
  }
  take_turn({request, std::move(*target), std::move(*person), reply});
}

void Hub::take_turn(Visit visit) {
  HubRealm* const realm = rest_.short_call(visit);
  const auto timed = [this, realm](const Visit& here) {
    const auto began = std::chrono::steady_clock::now();
    route(here);
    if (realm != nullptr) realm->pace.took(std::chrono::steady_clock::now() - began);
  };
  if (realm != nullptr && realm->pace.is_quick()) return timed(visit);
  const auto reply = visit.reply;
  const bool taken = pool_.run([timed, visit = std::move(visit)] { timed(visit); });
  if (!taken) answer(*reply, wrong(503, "too many requests are waiting", "try again"));
}

void Hub::route(const Visit& visit) {
  const std::string first = visit.target.names.empty() ? "" : visit.target.names[0];
  if (visit.is("GET", {"v1", "openapi.json"})) {
    return answer_text(*visit.reply, 200, std::string(kOpenApi), "application/json");
  }
  if (first == "v1") return rest_.handle(visit);
  if (first == "mcp" && visit.target.names.size() == 1) return mcp_.handle(visit);
  if (first == "lfs") return lfs_.handle(visit);
  if (CoordinatorApi::has(visit.target)) {
    const auto done = coordinator_.answer(visit);
    return done ? answer(*visit.reply, *done) : answer(*visit.reply, done.error());
  }
  if (visit.is("GET", {"metrics"})) return metrics(visit);
  answer(*visit.reply, wrong(404, "there is nothing here", "see /v1/openapi.json"));
}

void Hub::log_in(const http::Request& request, http::Reply& reply) {
  const auto pass = http::bearer_of(request);
  const auto welcome = pass ? visitors_.log_in(*pass) : std::nullopt;
  if (!welcome) {
    return answer(reply, wrong(401, "the pass was used already, or is older than a minute",
                               "make another: lockkeeper open"));
  }
  answer(reply, {200,
                 {{"token", welcome->token},
                  {"name", welcome->person.name},
                  {"realm", welcome->person.realms.front()}}});
}

void Hub::ready(http::Reply& reply) {
  if (desk_.draining) return answer_text(reply, 503, "draining\n");
  for (HubRealm* const realm : realms_.all()) {
    const auto newest = service::newest_event(realm->site);
    if (newest) continue;
    return answer_text(reply, 503, "the table of a realm cannot be read\n");
  }
  answer_text(reply, 200, "ready\n");
}

Gauges Hub::gauges() {
  Gauges gauges;
  const std::int64_t now = desk_.clock.now().wall_ms;
  for (HubRealm* const realm : realms_.all()) {
    const auto service = realm->site.service();
    if (!service) continue;
    service::ListCall call;
    call.scan_layouts = false;
    const auto all = (*service)->list(call);
    if (!all) continue;
    gauges.held += all->value.leases.size();
    gauges.waiting += all->value.waiters.size();
    for (const core::Waiter& waiter : all->value.waiters) {
      const double age = static_cast<double>(now - waiter.request.acquired_wall_ms) / 1e3;
      gauges.oldest_wait_seconds = std::max(gauges.oldest_wait_seconds, age);
    }
  }
  gauges.streams = feed_.streams();
  gauges.connections = connections_();
  gauges.draining = desk_.draining;
  return gauges;
}

void Hub::metrics(const Visit& visit) {
  if (const auto may = visit.person.must_have(Role::kRead); !may) {
    return answer(*visit.reply, may.error());
  }
  answer_text(*visit.reply, 200, desk_.metrics.text(gauges()),
              "text/plain; version=0.0.4; charset=utf-8");
}

Result<void> Hub::every_second() {
  mcp_.sweep();
  pool_.run([this] { bury(desk_, realms_); });
  pool_.run([this] { keep_up(realms_); });
  return tokens_ == nullptr ? Result<void>() : tokens_->follow();
}

void Hub::close() {
  mcp_.close();
  desk_.waits.close();
  feed_.close();
}

}  // namespace lockkeeper::hub
