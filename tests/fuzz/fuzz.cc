#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/assert.h"
#include "base/fd.h"
#include "base/test_folder.h"
#include "base/text.h"

namespace lockkeeper::fuzz {

std::uint8_t Input::byte() {
  const std::string_view one = take(1);
  return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one.front());
}

std::uint16_t Input::two_bytes() {
  const unsigned low = byte();
  return static_cast<std::uint16_t>(low | unsigned{byte()} << 8);
}

std::uint64_t Input::number() {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{byte()} << (8 * i);
  return value;
}

std::string_view Input::take(std::size_t count) {
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(taken.size());
  return taken;
}

std::string_view Input::line() {
  const std::string_view taken = take(std::min(rest_.find('\n'), rest_.size()));
  take(1);
  return taken;
}

void require(bool holds, std::string_view what, std::source_location where) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: %.*s\n", where.file_name(), where.line(),
               static_cast<int>(what.size()), what.data());
  std::abort();
}

void require_readable(const Error& error, std::source_location where) {
  require(!error.message.empty(), "a refusal without words", where);
  for (const std::string* text : {&error.message, &error.hint}) {
    require(is_valid_utf8(*text), "a message that is not UTF-8: " + *text, where);
    for (const char c : *text) {
      require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f,
              "a control character in a message: " + *text, where);
    }
  }
}

const std::string& scratch() {
  static const TestFolder folder = [] {
    if (::access("/dev/shm", W_OK | X_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
    return TestFolder();
  }();
  return folder.path();
}

void write_file(const std::string& path, std::string_view content) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  require(static_cast<bool>(fd), "cannot write " + path);
  require(::write(fd.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()),
          "cannot write " + path);
}

}  // namespace lockkeeper::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockkeeper::fuzz::run(lockkeeper::fuzz::Input({reinterpret_cast<const char*>(data), size}));
  return 0;
}
