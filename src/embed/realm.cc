// The public face of a realm; embed::Owner does the work. No exception leaves.
#include <lockkeeper/realm.h>

#include "embed/boundary.h"
#include "embed/owner.h"

namespace lockkeeper {

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
  if (owner_->in_child()) {
    return Error{Code::kLost, "this realm was opened by the parent of this process",
                 "open a realm in the child"};
  }
  try {
    return owner_->acquire(resources, options);
  } catch (const std::exception& exception) {
    return embed::thrown(exception);
  }
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

}  // namespace lockkeeper
