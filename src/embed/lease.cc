// The public face of a lease; embed::Handle does the work. No exception leaves the library.
#include <lockkeeper/lease.h>

#include "embed/boundary.h"
#include "embed/convert.h"
#include "embed/owner.h"

namespace lockkeeper {

Lease::Lease(std::shared_ptr<embed::Handle> handle) : handle_(std::move(handle)) {}

Lease::Lease(Lease&& other) noexcept = default;

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this == &other) return *this;
  const Lease before(std::move(*this));
  handle_ = std::move(other.handle_);
  return *this;
}

Lease::~Lease() {
  if (handle_) embed::Handle::let_go(std::move(handle_));
}

const std::string& Lease::id() const {
  return handle_->entry().id_text;
}

std::uint64_t Lease::fence() const {
  return handle_->entry().fence;
}

const std::vector<std::string>& Lease::resources() const {
  return handle_->entry().resources;
}

std::optional<std::chrono::milliseconds> Lease::ttl() const {
  return embed::to_ttl(handle_->entry().ttl_ms.load());
}

bool Lease::lost() const noexcept {
  return handle_->lost();
}

std::optional<Error> Lease::loss() const {
  return handle_->loss();
}

std::stop_token Lease::lost_token() const {
  return handle_->entry().stop.get_token();
}

Answer<void> Lease::check() const {
  return embed::answer<void>([&] { return handle_->check(); });
}

Answer<void> Lease::release() {
  return embed::answer<void>([&] { return handle_->release(); });
}

}  // namespace lockkeeper
