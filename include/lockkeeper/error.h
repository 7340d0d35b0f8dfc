// Why something was not done: one closed set of codes, the same in the library, the exit status,
// the JSON of the command line and every server.
//
// Thread safety: plain values.
#pragma once

#include <string>
#include <string_view>

namespace lockkeeper {

enum class Code {
  kFailed,                 // anything else; the message says what
  kUsage,                  // the call itself makes no sense: nothing was named
  kInvalidResource,        // not a path or key that can be locked
  kInvalidInput,           // another argument is wrong
  kNotFound,               // no such lease, no such store
  kStoreBusy,              // somebody is inside the store and does not move; named
  kStoreUnavailable,       // no permission, a refused filesystem, files that keep changing
  kStoreCorrupt,           // lost, damaged or rolled back: nothing is granted (I10)
  kNoSpace,                // the disk is full
  kUnknown,                // it cannot be told whether it was done; ask again with its request id
  kLimitExceeded,          // a named limit
  kHeld,                   // another holds it
  kDeadlock,               // waiting would never end
  kOperationNotPermitted,  // the realm's settings forbid it
  kNotOwner,               // the lease is another's
  kInvalidConfig,          // a settings file is wrong; nothing is granted until it is corrected
  kLost,                   // the lease has ended
  kTimeout,                // the wait is over without a grant
};

// The word used in JSON, e.g. "store_busy".
std::string_view code_name(Code code);

struct Error {
  Code code = Code::kFailed;
  std::string message;  // names the thing and the value
  std::string hint;     // one thing to do next; may be empty
};

}  // namespace lockkeeper
