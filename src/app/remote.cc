#include "app/remote.h"

#include "host/spawn.h"
#include "relay/relay.h"

namespace lockkeeper::app {

std::vector<realm::TriedHub> try_hubs(const realm::Login& login, Random& random) {
  return relay::try_hubs(login, LOCKKEEPER_VERSION, random);
}

Result<int> run_relay(cli::VerbContext& context, const std::string& url) {
  const auto leave = []() -> Result<relay::Ready> {
    LK_ASSIGN(host::Detached detached, host::Detached::leave());
    const auto kept = std::make_shared<host::Detached>(std::move(detached));
    return [kept](int status) { kept->ready(status); };
  };
  const service::Runtime& runtime = context.runtime();
  LK_CHECK(relay::run(url, LOCKKEEPER_VERSION, runtime.env, *runtime.random, leave));
  return 0;
}

}  // namespace lockkeeper::app
