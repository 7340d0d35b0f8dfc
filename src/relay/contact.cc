#include "relay/contact.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "host/process.h"

namespace lockkeeper::relay {
namespace {

constexpr int kBeatMs = 8'000;  // for one answer

Json texts_of(const std::vector<std::uint64_t>& numbers) {
  Json list = Json::array();
  for (const std::uint64_t number : numbers) list.push_back(std::to_string(number));
  return list;
}

}  // namespace

Result<Beaten> send_beat(HubLink& link, const std::string& version, const Tenants::Report& report,
                         const BeatCall& call) {
  Json sent{{"protocol", realm::kHubProtocol},   {"version", version},
            {"session", report.session},         {"at", call.at_ms},
            {"living", texts_of(report.living)}, {"gone", texts_of(report.gone)}};
  if (report.begins) sent["begins"] = true;
  auto answer =
      link.post({.target = "/v1/beat", .body = sent.dump(), .ms = call.ms, .only = call.only});
  if (!answer) {
    Error& error = answer.error();
    const bool strange = error.code == Code::kUsage || error.code == Code::kInvalidInput;
    if (strange)
      error.message = "this is lockkeeper " + version + "; the hub says: " + error.message;
    return fail(std::move(error));
  }
  const Json json = Json::parse(answer->body, nullptr, false);
  const bool good = json.is_object() && json.contains("protocol") &&
                    json["protocol"] == realm::kHubProtocol && json.contains("mark") &&
                    json["mark"].is_number_unsigned() && json.contains("lost") &&
                    json["lost"].is_array();
  if (!good) {
    return fail(Code::kUsage,
                "this is lockkeeper " + version + ", and the hub has version " +
                    quote(text_at(json, "version")) + ", which speaks another protocol",
                "use the same version of lockkeeper on both sides");
  }
  Beaten beaten{json["mark"].get<std::uint64_t>(), text_at(json, "name"), {}, false, answer->at};
  beaten.lost_session = text_at(json, "session") == "lost";
  for (const Json& one : json["lost"]) {
    const std::string digits = one.is_string() ? one.get<std::string>() : "";
    beaten.lost.push_back(std::strtoull(digits.c_str(), nullptr, 10));
  }
  return beaten;
}

Result<realm::Login> login_for(const std::string& url, const realm::Environment& env) {
  LK_ASSIGN(const std::vector<realm::Login> logins, realm::read_logins(env));
  const auto found = std::ranges::find(logins, url, &realm::Login::url);
  if (found != logins.end()) return *found;
  realm::Login nobody;
  nobody.url = url;
  return nobody;
}

Contact::Contact(realm::ServerUrls urls, realm::Environment env, std::string version,
                 Tenants& tenants, Fd beat_file)
    : urls_(std::move(urls)),
      env_(std::move(env)),
      version_(std::move(version)),
      tenants_(tenants),
      beat_file_(std::move(beat_file)),
      begun_ms_(host::since_boot_ms()) {}

// With the token as it is now: `login` and `logout` need no new relay.
Result<std::shared_ptr<Contact::Link>> Contact::link() {
  const std::uint64_t now = realm::logins_stamp(env_);
  const std::lock_guard hold(mutex_);
  if (link_ && logins_ == now) return link_;
  LK_ASSIGN(const realm::Login login, login_for(realm::text_of(urls_), env_));
  link_ = std::make_shared<Link>(urls_, login);
  logins_ = now;
  return link_;
}

bool Contact::is_over() const {
  return host::since_boot_ms() - std::max(last_ms_.load(), begun_ms_) > realm::kSessionMs;
}

Result<void> Contact::beat() {
  const std::lock_guard alone(beat_mutex_);
  LK_ASSIGN(const std::shared_ptr<Link> link, this->link());
  return beat_to(*link, {}, kBeatMs);
}

Result<void> Contact::keep() {
  const std::int64_t last = last_ms_;
  const bool recent = last >= 0 && host::since_boot_ms() - last < 2 * realm::kBeatEveryMs;
  return recent && !tenants_.must_begin() ? Result<void>() : beat();
}

// A session that the hub has lost is followed by another one at once.
Result<void> Contact::beat_to(Link& link, const std::optional<std::size_t>& only, int ms) {
  LK_ASSIGN(bool known, try_beat(link, only, ms));
  if (known) return {};
  LK_ASSIGN(known, try_beat(link, only, ms));
  if (known) return {};
  return fail(Code::kStoreUnavailable, "the hub does not keep the session of this machine",
              "look at the hub's store: lockkeeper doctor, on its machine");
}

// Of two beats, the older one can be the slower.
void Contact::note_contact(std::int64_t sent_ms) {
  const std::lock_guard hold(mutex_);
  if (sent_ms < last_ms_) return;
  last_ms_ = sent_ms;
  std::string bytes;
  append_be64(bytes, static_cast<std::uint64_t>(sent_ms));
  static_cast<void>(!::pwrite(beat_file_.get(), bytes.data(), bytes.size(), 0));
}

// False: the session was lost, and there is another one, which is still to begin.
Result<bool> Contact::try_beat(Link& link, const std::optional<std::size_t>& only, int ms) {
  const std::int64_t sent = host::since_boot_ms();
  const Tenants::Report report = tenants_.report();
  LK_ASSIGN(const Beaten beaten, send_beat(link.hubs, version_, report, {sent, ms, only}));
  if (beaten.lost_session) {
    LK_CHECK(tenants_.lose_session(report.session, sent));
    return false;
  }
  if (report.begins) LK_CHECK(tenants_.begun(report.session));
  tenants_.acknowledge(report.gone);
  tenants_.drop(beaten.lost, sent);
  mark_ = beaten.mark;
  link.met = beaten.at;
  note_contact(sent);
  return true;
}

// Does not wait for a beat that is on its way to another address, which may be silent.
Result<void> Contact::meet(Link& link, std::size_t at, int ms) {
  const auto is_known = [&] { return link.met == at && !tenants_.must_begin(); };
  if (is_known()) return {};
  const std::unique_lock alone(link.meeting[at], std::chrono::milliseconds(ms));
  if (is_known()) return {};
  if (alone) return beat_to(link, at, ms);
  return fail(Code::kStoreUnavailable, "the hub " + urls_[at].text() + " has answered no beat yet",
              "ask again");
}

Result<std::string> Contact::post(HubCall call, bool about_tenants) {
  LK_ASSIGN(const std::shared_ptr<Link> link, this->link());
  call.relay = [this] {
    // A beat that was written before this knows nothing of whom it is about.
    return tenants_.session() + "@" + std::to_string(host::since_boot_ms()) +
           (has_several() ? realm::kMeetsFirst : "");
  };
  const std::string session = tenants_.session();
  // With several addresses always: what one that is asked in vain does later is void once another
  // one keeps the session.
  if (about_tenants || !tenants_.empty() || has_several()) {
    call.before = [&](std::size_t at, int ms) -> Result<void> {
      LK_CHECK(meet(*link, at, ms));
      // The number in it may have gone with the session.
      if (!about_tenants || tenants_.session() == session) return {};
      return fail(Code::kStoreUnavailable, "the hub has lost the session of this machine",
                  "ask again");
    };
  }
  call.failed = [&link](std::size_t at) {
    std::size_t met = at;
    link->met.compare_exchange_strong(met, SIZE_MAX);  // it may have begun anew
  };
  LK_ASSIGN(HubLink::Answer answer, link->hubs.post(call));
  return std::move(answer.body);
}

}  // namespace lockkeeper::relay
