#include "bench/questions/inside.h"

#include <signal.h>

#include <cstdlib>

#include "base/assert.h"
#include "bench/peers/ours.h"
#include "bench/report.h"

namespace lockkeeper::bench {

Inside::Inside(const std::string& folder) : before_(std::filesystem::current_path()) {
  std::filesystem::current_path(folder);
  ::setenv("XDG_STATE_HOME", state_folder_for(folder).c_str(), 1);
  ::setenv("XDG_CONFIG_HOME", state_folder_for(folder).c_str(), 1);
  ::unsetenv("XDG_RUNTIME_DIR");
  for (const char* name :
       {"LOCKKEEPER_REALM", "LOCKKEEPER_LEASE", "LOCKKEEPER_FENCE", "LOCKKEEPER_AGENT",
        "LOCKKEEPER_SESSION", "LOCKKEEPER_SERVER", "LOCKKEEPER_TEST_FAULT"}) {
    ::unsetenv(name);
  }
}

Inside::~Inside() {
  std::filesystem::current_path(before_);
}

bool has_program(const Setup& setup, Answer& answer) {
  if (std::filesystem::exists(setup.lockkeeper)) return true;
  answer.skipped.push_back("lockkeeper: the program is not built beside the benchmark");
  return false;
}

void run_well(const Words& argv) {
  LOCKKEEPER_ASSERT(run_quietly(argv) == 0);
}

namespace {

Words server_words(const Setup& setup, Words words, int port, const Words& after) {
  words.insert(words.begin(), setup.lockkeeper);
  words.push_back("127.0.0.1:" + std::to_string(port));
  words.insert(words.end(), after.begin(), after.end());
  return words;
}

}  // namespace

OurServer::OurServer(const Setup& setup, const Words& before, const Words& after,
                     const std::string& log)
    : port(free_port()),
      server({.argv = server_words(setup, before, port, after),
              .log = log,
              .user = {},
              .env = {},
              .stop_signal = SIGTERM}) {
  ready = server.wait_until([this] { return static_cast<bool>(connect_loopback(port)); });
}

OurServer hub_over(const Setup& setup, const std::string& folder, const Words& more) {
  Words after = {"--no-auth", "--realm", "app=" + folder};
  after.insert(after.end(), more.begin(), more.end());
  return {setup, {"serve", "--listen"}, after, folder + ".hub.log"};
}

}  // namespace lockkeeper::bench
