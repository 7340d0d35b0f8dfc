#include "service/site.h"

#include "core/sessions.h"
#include "layout/make_store.h"

namespace lockkeeper::service {

Site::Site(const Runtime& runtime, realm::Realm realm, realm::Settings settings)
    : runtime_(runtime),
      own_table_(
          std::make_unique<layout::LockTable>(runtime, std::move(realm), std::move(settings))),
      table_(own_table_.get()),
      own_service_(runtime.make_service(*table_)),
      service_(own_service_.get()) {}

Site::Site(Site& place, Service& through)
    : runtime_(place.runtime_), table_(place.table_), service_(&through), opened_(true) {}

Result<Service*> Site::service() {
  const std::lock_guard<std::mutex> hold(mutex_);
  if (!opened_) {
    LK_CHECK(service_->open({key_rules()}));
    opened_ = true;
  }
  return service_;
}

core::Owner Site::known_as(const core::Owner& owner) const {
  const realm::Server* const hub = server();
  if (hub == nullptr || hub->person.empty()) return owner;
  return core::signed_owner(owner, hub->person).value_or(owner);  // else the hub says why not
}

void Site::make_folder() const {
  if (server() == nullptr || realm().in_memory) return;
  static_cast<void>(layout::create_store_folder(realm()));
}

bool Site::is_out_of_contact() const {
  const auto age = table_->contact_age_ms();
  return age && *age >= realm::kOutOfContactMs;
}

bool Site::store_is_gone() const {
  if (realm().in_memory || server() != nullptr) return false;
  const auto store = realm::check_store(realm());
  return store && *store == realm::StoreState::kAbsent;
}

}  // namespace lockkeeper::service
