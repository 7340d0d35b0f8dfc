#include "service/site.h"

namespace lockkeeper::service {

Site::Site(const Runtime& runtime, realm::Realm realm, realm::Settings settings)
    : runtime_(runtime),
      table_(runtime, std::move(realm), std::move(settings)),
      service_(runtime.make_service(table_)) {}

Result<Service*> Site::service() {
  const std::lock_guard<std::mutex> hold(mutex_);
  if (!opened_) {
    LK_CHECK(service_->open({key_rules()}));
    opened_ = true;
  }
  return service_.get();
}

bool Site::store_is_gone() const {
  if (realm().in_memory) return false;
  const auto store = realm::check_store(realm());
  return store && *store == realm::StoreState::kAbsent;
}

}  // namespace lockkeeper::service
