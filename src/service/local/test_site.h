// For tests alone: a realm in a fresh repository, with a lock service that is called directly or
// over a wire on which every call becomes JSON and comes back.
#pragma once

#include <atomic>
#include <deque>
#include <memory>

#include "layout/test_table.h"
#include "service/local/local_service.h"
#include "service/site.h"
#include "service/wire/wire.h"

namespace lockkeeper::service {

enum class Over {
  kCalls,
  kWire,
  kLossyWire,  // every third reply is lost, after the request was carried out
};

// The service of a table, as its caller sees it. Keeps the pieces of a wire.
inline std::unique_ptr<Service> make_test_service(layout::LockTable& table, Over over) {
  if (over == Over::kCalls) return local::make_service(table);
  struct Ends {
    explicit Ends(layout::LockTable& table)
        : service(local::make_service(table)), clock(*table.runtime().clock) {}
    const std::unique_ptr<Service> service;
    const Clock& clock;
    std::atomic<int> calls = 0;
  };
  const auto ends = std::make_shared<Ends>(table);
  const auto exchange = [ends, over](const std::string& request) -> Result<std::string> {
    std::string reply = wire::serve(*ends->service, request, ends->clock);
    if (over == Over::kLossyWire && ++ends->calls % 3 == 0) {
      return fail(Code::kUnknown, "the reply was lost", "ask again");
    }
    return reply;
  };
  return wire::make_client(exchange, *table.runtime().clock, *table.runtime().random);
}

class TestSite : public layout::TestTable {
 public:
  explicit TestSite(Over over = Over::kCalls) {
    static_cast<layout::Runtime&>(service_runtime) = runtime;
    service_runtime.make_service = [over](layout::LockTable& table) {
      return make_test_service(table, over);
    };
  }

  // With the settings as they are now. One process's view; several are several processes.
  std::unique_ptr<Site> site() {
    // Its own copy: a test may change `runtime`, and threads of earlier sites still use theirs.
    Runtime& own = runtimes_.emplace_back(service_runtime);
    static_cast<layout::Runtime&>(own) = runtime;
    return std::make_unique<Site>(own, realm, realm::load_settings(realm, runtime.env).value());
  }

  Runtime service_runtime;

 private:
  std::deque<Runtime> runtimes_;
};

}  // namespace lockkeeper::service
