// Collects the answers to a batch (2025-03-26) into one message. Other messages go out at once.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <mutex>

#include "mcp/call.h"

namespace lockkeeper::mcp {

class BatchOutlet final : public Outlet {
 public:
  // `requests`: the number of end() calls to come. REQUIRES: at least one
  BatchOutlet(std::shared_ptr<Outlet> outlet, std::size_t requests)
      : outlet_(std::move(outlet)), left_(requests) {}

  void send(const Json& message) override;
  void end() override;
  void close_early() override { outlet_->close_early(); }

 private:
  const std::shared_ptr<Outlet> outlet_;
  std::mutex mutex_;  // protects what is below
  Json answers_ = Json::array();
  std::size_t left_;
};

}  // namespace lockkeeper::mcp
