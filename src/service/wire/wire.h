// The lock service over a wire: one request line and one reply line for each call.
//
//   {"call":"release","with":{…}}  →  {"reply":{…}}  or  {"error":{"code","message","hint"}}
//
// Thread safety: as the service's and the exchange's.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/random.h"
#include "service/service.h"

namespace lockkeeper::service::wire {

// The other side: carries out one request line.
std::string serve(Service& service, const std::string& request, const Clock& clock);

// Sends a request line and gives the reply line. `unknown`: the reply was lost, and the request may
// have been carried out.
using Exchange = std::function<Result<std::string>(const std::string& request)>;

// A service elsewhere. A call whose reply was lost is repeated, with the request id that every
// call that changes something gets here if it has none. `clock` and `random` must outlive it.
std::unique_ptr<Service> make_client(Exchange exchange, const Clock& clock, Random& random);

}  // namespace lockkeeper::service::wire
