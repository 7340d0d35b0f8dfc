// Any request lines, as a server of the lock service gets them from another machine: over one table
// in memory. Every line is answered with one line, and what was read of a call is written and read
// back as the same call.
#include <nlohmann/json.hpp>

#include "fuzz.h"
#include "kv/memory/memory_store.h"
#include "realm.h"
#include "service/local/local_service.h"
#include "service/site.h"
#include "service/wire/codec.h"
#include "service/wire/wire.h"

namespace lockkeeper::fuzz {
namespace {

class StandingClock final : public Clock {
 public:
  Now now() const override { return {5'000, 1'768'663'800'000}; }
};

const StandingClock kClock;

// A lock service over a table of its own.
class World {
 public:
  World() {
    runtime_.env = [](const char*) -> std::optional<std::string> { return std::nullopt; };
    runtime_.clock = &kClock;
    runtime_.random = &random_;
    runtime_.open_store = [](const layout::StoreRequest&) -> Result<std::unique_ptr<kv::Store>> {
      return std::make_unique<kv::MemoryStore>();
    };
    runtime_.make_service = service::local::make_service;
    site_.emplace(runtime_, realm(), realm::Settings{});
  }
  service::Service& service() { return *site_->service().value(); }

 private:
  SeededRandom random_{1};
  service::Runtime runtime_;
  std::optional<service::Site> site_;
};

template <typename Call>
void check_round_trip(const Json& json) {
  const auto call = service::wire::from_json<Call>(json, kClock);
  if (!call) return require_readable(call.error());
  const std::string text = service::wire::text_of(*call, kClock);
  const auto again = service::wire::from_text<Call>(text, kClock);
  require(again.has_value(), "cannot read what was written: " + text);
  require(service::wire::text_of(*again, kClock) == text, "reads something else: " + text);
}

void check_calls(const Json& json) {
  check_round_trip<service::AcquireCall>(json);
  check_round_trip<service::ReleaseCall>(json);
  check_round_trip<service::RenewCall>(json);
  check_round_trip<service::CheckCall>(json);
  check_round_trip<service::BreakCall>(json);
  check_round_trip<service::AdoptCall>(json);
  check_round_trip<service::ListCall>(json);
  check_round_trip<service::EventsCall>(json);
  check_round_trip<service::MessagesCall>(json);
}

// Nobody has the time to wait.
std::string without_waiting(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("with")) return line;
  check_calls(json["with"]);
  if (!json["with"].is_object() || !json["with"].contains("at_most_ms")) return line;
  json["with"]["at_most_ms"] = 0;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void run(Input input) {
  World world;
  for (int calls = 0; calls < 8 && !input.empty(); ++calls) {
    const std::string request = without_waiting(std::string(input.line()));
    const std::string reply = service::wire::serve(world.service(), request, kClock);
    require(reply.find('\n') == std::string::npos, "more than one line");
    const Json json = Json::parse(reply, nullptr, false);
    require(json.is_object() && json.size() == 1, "not a reply: " + reply);
    require(json.contains("reply") || json.contains("error"), "neither reply nor error: " + reply);
  }
}

}  // namespace lockkeeper::fuzz
