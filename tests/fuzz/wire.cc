// Any request lines, as a server of the lock service gets them from another machine: over one table
// in memory. Every line is answered with one line, and what was read of a call is written and read
// back as the same call.
#include <nlohmann/json.hpp>

#include "base/test_clock.h"
#include "fuzz.h"
#include "memory_runtime.h"
#include "realm.h"
#include "service/site.h"
#include "service/wire/codec.h"
#include "service/wire/wire.h"

namespace lockkeeper::fuzz {
namespace {

const TestClock kClock;

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
  SeededRandom random(1);
  const service::Runtime runtime = memory_runtime(kClock, random);
  service::Site site(runtime, realm(), realm::Settings{});
  service::Service& service = *site.service().value();
  for (int calls = 0; calls < 8 && !input.empty(); ++calls) {
    const std::string request = without_waiting(std::string(input.line()));
    const std::string reply = service::wire::serve(service, request, kClock);
    require(reply.find('\n') == std::string::npos, "more than one line");
    const Json json = Json::parse(reply, nullptr, false);
    require(json.is_object() && json.size() == 1, "not a reply: " + reply);
    require(json.contains("reply") || json.contains("error"), "neither reply nor error: " + reply);
  }
}

}  // namespace lockkeeper::fuzz
