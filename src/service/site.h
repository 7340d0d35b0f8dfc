// One realm as a door on this machine uses it: where it is, which rules apply, its lock service,
// and what lives on this machine alone (layouts, live slots, wakers).
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <memory>
#include <mutex>

#include "service/runtime.h"

namespace lockkeeper::service {

class Site {
 public:
  // Opens nothing yet. `runtime` and what it points to must outlive it.
  Site(const Runtime& runtime, realm::Realm realm, realm::Settings settings);
  // The same place, asked through another service, which is open. Both must outlive it.
  Site(Site& place, Service& through);

  const realm::Realm& realm() const { return table_->realm(); }
  const realm::Settings& settings() const { return table_->settings(); }
  const Runtime& runtime() const { return runtime_; }
  // The hub that keeps the locks; null: the table is on this machine.
  const realm::Server* server() const { return table_->server(); }
  // A hub has the table: makes the folder that would be beside it, for what is kept on this machine
  // all the same. If that fails, nothing is kept.
  void make_folder() const;
  // The owner as the lock service knows it: a hub puts the person's name behind it.
  core::Owner known_as(const core::Owner& owner) const;
  // Has the hub been silent for so long that what is attached counts as lost?
  bool is_out_of_contact() const;
  Now now() const { return runtime_.clock->now(); }
  key::Rules key_rules() const { return settings().key_rules(realm()); }

  // Opened by the first call.
  Result<Service*> service();
  layout::LockTable& table() { return *table_; }
  // Deleted while we used it: the next caller starts a table that knows none of our leases.
  bool store_is_gone() const;

 private:
  const Runtime& runtime_;
  const std::unique_ptr<layout::LockTable> own_table_;
  layout::LockTable* const table_;
  const std::unique_ptr<Service> own_service_;
  Service* const service_;
  std::mutex mutex_;
  bool opened_ = false;  // protected by mutex_
};

}  // namespace lockkeeper::service
