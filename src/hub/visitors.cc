#include "hub/visitors.h"

#include "base/sha256.h"
#include "http/admission.h"
#include "hub/people/passes.h"
#include "hub/people/tokens.h"

namespace lockkeeper::hub {
namespace {

constexpr std::size_t kVisitorsMost = 100;  // the first ones log in again

const Person& whoever_made_the_pass() {
  static const Person kPerson{"", kEveryRole, {"*"}};
  return kPerson;
}

std::optional<std::string> look_for(HubRealms& realms, std::string_view pass, bool take) {
  const auto name = realm_of_pass(pass);
  if (!name) return std::nullopt;
  for (const HubRealm* const realm : realms.all()) {
    if (realm->name == *name) return find_pass(realm->site.realm().store_folder, pass, take);
  }
  return std::nullopt;
}

}  // namespace

bool Visitors::has_pass(std::string_view pass) const {
  return look_for(realms_, pass, false).has_value();
}

std::optional<Visitors::Welcome> Visitors::log_in(std::string_view pass) {
  const std::lock_guard hold(mutex_);
  const auto name = look_for(realms_, pass, true);
  if (!name) return std::nullopt;
  Person person = whoever_made_the_pass();
  person.name = *name;
  person.realms = {*realm_of_pass(pass)};
  Welcome welcome{new_secret("lk_"), std::move(person)};
  known_.push_back({sha256_hex(welcome.token), welcome.person});
  if (known_.size() > kVisitorsMost) known_.pop_front();
  return welcome;
}

std::optional<Person> Visitors::find(std::string_view token) const {
  const std::string digest = sha256_hex(token);
  std::optional<Person> found;
  const std::lock_guard hold(mutex_);
  for (const Known& known : known_) {  // each is compared, whichever it is
    if (http::same_secret(known.digest, digest)) found = known.person;
  }
  return found;
}

}  // namespace lockkeeper::hub
