// The public face of a realm; embed::Owner does the work. No exception leaves the library.
#include <lockkeeper/realm.h>

#include "embed/boundary.h"
#include "embed/convert.h"
#include "embed/owner.h"
#include "wiring/embedded_store.h"

namespace lockkeeper {
namespace {

// Asks an owner, but not one that a forked child inherited.
template <class T, class Work>
Answer<T> ask_owner(const embed::Owner& owner, const Work& work) {
  return embed::answer<T>([&]() -> Result<T> {
    if (owner.in_child()) return fail(embed::in_child_error());
    return work();
  });
}

}  // namespace

Realm::Realm(std::shared_ptr<embed::Owner> owner) : owner_(std::move(owner)) {}

Realm::Realm(Realm&&) noexcept = default;

Realm& Realm::operator=(Realm&& other) noexcept {
  if (this == &other) return *this;
  close();
  owner_ = std::move(other.owner_);
  return *this;
}

Realm::~Realm() {
  close();
}

void Realm::close() noexcept {
  if (!owner_) return;
  if (owner_->in_child()) return embed::abandon(std::move(owner_));
  owner_->close();
  owner_.reset();
}

Answer<Realm> Realm::open(const RealmOptions& options) {
  return embed::answer<Realm>([&]() -> Result<Realm> {
    LK_ASSIGN(auto owner, embed::Owner::open(options));
    return Realm(std::move(owner));
  });
}

Acquired Realm::acquire(const std::vector<std::string>& resources,
                        const AcquireOptions& options) const {
  // The realm may be destroyed meanwhile, which ends the wait but not yet this call.
  const std::shared_ptr<embed::Owner> owner = owner_;
  if (owner->in_child()) return embed::in_child_error();
  try {
    return owner->acquire(resources, options);
  } catch (const std::exception& exception) {
    return embed::thrown(exception);
  }
}

Answer<CheckResult> Realm::check(const std::vector<std::string>& resources,
                                 const CheckOptions& options) const {
  return ask_owner<CheckResult>(*owner_, [&]() -> Result<CheckResult> {
    LK_ASSIGN(const core::CheckReply reply, owner_->check(resources, options));
    return embed::to_result(reply);
  });
}

Answer<Listing> Realm::list(const ListOptions& options) const {
  return ask_owner<Listing>(*owner_, [&]() -> Result<Listing> {
    LK_ASSIGN(const service::ListReply reply, owner_->list(options));
    return embed::to_listing(reply);
  });
}

Answer<std::vector<LeaseInfo>> Realm::renew(const std::vector<std::string>& resources,
                                            const RenewOptions& options) const {
  using Infos = std::vector<LeaseInfo>;
  return ask_owner<Infos>(*owner_, [&]() -> Result<Infos> {
    LK_ASSIGN(const std::vector<core::Lease> leases, owner_->renew(resources, options));
    Infos renewed;
    for (const core::Lease& lease : leases) {
      // What is bound to a dead process is not renewed.
      const bool bound = lease.attached();
      renewed.push_back(embed::to_info(lease, bound ? core::Alive::kAlive : core::Alive::kUnknown));
    }
    return renewed;
  });
}

Answer<LeaseInfo> Realm::break_lease(const std::string& lease_id, const std::string& reason) const {
  return ask_owner<LeaseInfo>(*owner_, [&]() -> Result<LeaseInfo> {
    LK_ASSIGN(const core::Lease broken, owner_->break_lease(lease_id, reason));
    return embed::to_info(broken, core::Alive::kUnknown);
  });
}

const std::string& Realm::root() const {
  return owner_->realm().root;
}

const std::string& Realm::store() const {
  return owner_->realm().store_folder;
}

const std::string& Realm::agent() const {
  return owner_->who().agent;
}

const std::string& Realm::session() const {
  return owner_->who().session;
}

bool disable_fault_handler() {
  return wiring::forbid_fault_handler();
}

}  // namespace lockkeeper
