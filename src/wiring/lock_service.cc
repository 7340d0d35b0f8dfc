#include "wiring/lock_service.h"

#include "remote/relay_line.h"
#include "service/local/local_service.h"
#include "service/wire/wire.h"

namespace lockkeeper::wiring {

std::unique_ptr<service::Service> make_service(layout::LockTable& table) {
  const layout::Runtime& runtime = table.runtime();
  if (const realm::Server* const server = table.server()) {
    const auto line = std::make_shared<remote::RelayLine>(*server, runtime.relay_program,
                                                          runtime.env, *runtime.random);
    const auto ask = [line, &table](const std::string& request) -> Result<std::string> {
      const realm::Server& hub = *table.server();
      if (hub.name.empty()) return fail(realm::unnamed_realm(table.realm(), hub));
      return line->ask(request);
    };
    return service::wire::make_client(ask, *runtime.clock, *runtime.random);
  }
  if (!realm::variable(runtime.env, "LOCKKEEPER_TEST_WIRE")) {
    return service::local::make_service(table);
  }
  const std::shared_ptr<service::Service> served = service::local::make_service(table);
  const auto exchange = [served, &runtime](const std::string& request) -> Result<std::string> {
    return service::wire::serve(*served, request, *runtime.clock);
  };
  return service::wire::make_client(exchange, *runtime.clock, *runtime.random);
}

}  // namespace lockkeeper::wiring
