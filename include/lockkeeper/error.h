// Why something was not done. The codes are a closed set: the library, the exit status, the JSON of
// the command line and every server use the same ones.
//
// Thread safety: plain values.
#pragma once

#include <string>
#include <string_view>

namespace lockkeeper {

enum class Code {
  kFailed,                 // none of the codes below; the message says what happened
  kUsage,                  // the call makes no sense, for example because it names nothing
  kInvalidResource,        // not a path or key that can be locked
  kInvalidInput,           // another argument is wrong
  kNotFound,               // no such lease, no such store
  kStoreBusy,              // another process is inside the store and stuck; the message names it
  kStoreUnavailable,       // no permission, a refused filesystem, files that keep changing
  kStoreCorrupt,           // the store is lost, damaged or rolled back, and grants nothing
  kNoSpace,                // the disk is full
  kUnknown,                // it may or may not be done; ask again with the same request id
  kLimitExceeded,          // a limit, named in the message
  kHeld,                   // another owner holds it
  kDeadlock,               // the wait would never end
  kOperationNotPermitted,  // the realm's settings forbid it
  kNotOwner,               // the lease belongs to another owner
  kInvalidConfig,          // a settings file is wrong; nothing is granted until it is corrected
  kLost,                   // the lease has ended
  kTimeout,                // it was not granted within the wait
};

// The word used in JSON, e.g. "store_busy".
std::string_view code_name(Code code);

struct Error {
  Code code = Code::kFailed;
  std::string message;  // names the thing and the value
  std::string hint;     // one thing to do about it; may be empty
};

}  // namespace lockkeeper
