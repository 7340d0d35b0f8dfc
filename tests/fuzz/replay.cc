// Replays a target's corpus, and what was once found, in an ordinary build: FILE…
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "corpus.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

char under_way[4096];

void say_which(int signal) {
  static_cast<void>(!::write(STDERR_FILENO, under_way, std::strlen(under_way)));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGILL, SIGFPE, SIGBUS})
    std::signal(signal, say_which);
  std::size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    const auto inputs = lockkeeper::fuzz::read_corpus(argv[i]);
    if (!inputs) return 1;
    for (const auto& [line, bytes] : *inputs) {
      std::snprintf(under_way, sizeof under_way, "%s:%d\n", argv[i], line);
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++count;
    }
  }
  std::printf("%zu inputs\n", count);
  return count == 0 ? 1 : 0;
}
