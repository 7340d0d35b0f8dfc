// The coordinator's HTTP API, as its users know it, over the realm's one table:
//
//   POST /locks/acquire   POST /locks/release   GET /locks/status/PATH   DELETE /locks/PATH
//   POST /ports/allocate  POST /ports/release   GET /ports/status
//
// A conflict is 200 with success false; what somebody may not do is 403. What differs from the
// original: docs/dialects/coordinator.md.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include "hub/visit.h"

namespace lockkeeper::hub {

class CoordinatorApi {
 public:
  // All must outlive it.
  CoordinatorApi(Desk& desk, HubRealms& realms, const service::Runtime& runtime)
      : desk_(desk), realms_(realms), runtime_(runtime) {}

  // Is it one of the paths above?
  static bool has(const http::Target& target);
  // REQUIRES: has(visit.target).
  Result<Answer> answer(const Visit& visit);

 private:
  Result<Answer> acquire(const Visit& visit);
  Result<Answer> release(const Visit& visit);
  Result<Answer> status(const Visit& visit);
  Result<Answer> force_release(const Visit& visit);
  Result<Answer> ports(const Visit& visit);
  Result<std::unique_ptr<Seat>> seat(const Visit& visit, const std::string& agent);

  Desk& desk_;
  HubRealms& realms_;
  const service::Runtime& runtime_;
};

}  // namespace lockkeeper::hub
