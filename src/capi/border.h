// Between C and the library: arguments are read, answers are made, and no exception passes.
#pragma once

#include <lockkeeper/c_types.h>
#include <pthread.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace lockkeeper::capi {

// The JSON of an answer. With an error: a refusal, which has more to say than the error.
struct Reply {
  Json json = Json::object();
  std::optional<Error> error = std::nullopt;
};

lockkeeper_status status_of(Code code);

// Makes the answer, if there is memory for it and somebody wants it; gives its status.
lockkeeper_status give(Result<Reply> reply, lockkeeper_answer** answer) noexcept;

// A thread that is cancelled inside a call ends when the call has returned: C++ cannot be left from
// the middle.
class NoCancellation {
 public:
  NoCancellation() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { ::pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

// Every function of the API is one call of this. `work` gives a Result<Reply>.
template <class Work>
lockkeeper_status border(lockkeeper_answer** answer, const Work& work) noexcept {
  const NoCancellation whole;
  if (answer != nullptr) *answer = nullptr;
  try {
    return give(work(), answer);
  } catch (const std::exception& exception) {
    try {
      return give(fail(Code::kFailed, std::string("failed inside: ") + exception.what()), answer);
    } catch (...) {
      return LOCKKEEPER_FAILED;
    }
  } catch (...) {
    return LOCKKEEPER_FAILED;
  }
}

// --- arguments

inline std::string text_of(const char* text) {
  return text == nullptr ? std::string() : std::string(text);
}

// usage: NULL, or NULL among them. `name`: of the argument.
Result<std::vector<std::string>> texts_of(const char* const* texts, std::size_t count,
                                          const char* name);

// nullopt: 0. invalid_input: negative, but not LOCKKEEPER_FOREVER.
Result<std::optional<std::chrono::milliseconds>> duration_of(std::int64_t ms, const char* what);

// usage: a flag that is not among those allowed.
Result<void> check_flags(std::uint64_t flags, std::uint64_t allowed);

// usage: `size` is less than `least`, or a field is set that this library does not know.
Result<void> read_sized(const void* given, std::size_t size, std::size_t least, void* to,
                        std::size_t known, const char* name);

// A copy of the options as this library knows them; what an older program does not have is 0.
// `least`: what the first version had.
template <class Options>
Result<Options> options_of(const Options* given, std::size_t least, const char* name) {
  Options options{};
  if (given == nullptr) return options;
  LK_CHECK(read_sized(given, given->struct_size, least, &options, sizeof(Options), name));
  return options;
}

}  // namespace lockkeeper::capi
