#include "bench/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace lockkeeper::bench {

Progress::Progress() : shown_(::isatty(STDERR_FILENO) == 1) {}

void Progress::begin(int number, int of, const std::string& question) {
  head_ = fmt::format("[{}/{}] {}", number, of, question);
  say("");
}

void Progress::say(const std::string& doing) {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K{}{}", head_, doing.empty() ? "" : ": " + doing);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

}  // namespace lockkeeper::bench
