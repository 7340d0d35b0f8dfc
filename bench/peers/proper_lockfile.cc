// proper-lockfile of npm, the lock file that Node tools use: a folder made by mkdir whose time is
// touched now and then. Its cost is taken inside of node: the pipe to it is not counted.
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "base/assert.h"
#include "bench/child.h"
#include "bench/peers/lock_files.h"
#include "bench/peers/peers.h"

namespace lockkeeper::bench {
namespace {

class NodeClient final : public Client {
 public:
  explicit NodeClient(const Words& argv) : node_(argv) {}

  std::string hear() const { return node_.hear(); }
  double timed_pair(const std::string& path) override {
    const std::string line = flat_name(path) + "\n";
    node_.write_all(line);
    const std::string nanos = hear();
    LOCKKEEPER_ASSERT(!nanos.empty());
    return std::atof(nanos.c_str()) / 1000;
  }
  void pair(const std::string& path) override { timed_pair(path); }

 private:
  Piped node_;
};

class ProperLockfile final : public Peer {
 public:
  explicit ProperLockfile(Words argv)
      : Peer("proper-lockfile (npm), in node", "process",
             "subtrees, queue, history, fences, names of owners, all or nothing; 2,000 held"),
        argv_(std::move(argv)) {}
  std::unique_ptr<Client> connect() override {
    auto client = std::make_unique<NodeClient>(argv_);
    LOCKKEEPER_ASSERT(client->hear() == "ready\n");
    return client;
  }

 private:
  const Words argv_;
};

}  // namespace

Made make_proper_lockfile(const Setup& setup) {
  const std::string node = find_program("node");
  if (node.empty()) return std::unexpected("proper-lockfile: node is not installed");
  const char* modules = std::getenv("LOCKKEEPER_BENCH_NODE_MODULES");
  if (modules == nullptr || !std::filesystem::exists(std::string(modules) + "/proper-lockfile")) {
    return std::unexpected("proper-lockfile: not installed; ./dev bench does it");
  }
  const std::string folder = setup.fresh("proper-lockfile");
  for (int i = 0; i < files_to_hold(setup); ++i) {
    ::mkdir((folder + "/" + flat_name(held_path(i)) + ".lock").c_str(), 0755);
  }
  const Words argv = {node, LOCKKEEPER_BENCH_PEERS "/proper_lockfile.js", modules, folder};
  if (NodeClient(argv).hear() != "ready\n") {
    return std::unexpected("proper-lockfile: node could not load it");
  }
  return std::make_unique<ProperLockfile>(argv);
}

}  // namespace lockkeeper::bench
