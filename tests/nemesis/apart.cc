#include "nemesis/apart.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/assert.h"
#include "etcd/cluster.h"
#include "support/process.h"

namespace lockkeeper::nemesis {
namespace {

constexpr const char* kApart = "LOCKKEEPER_NEMESIS_APART";
constexpr const char* kLasting = "LOCKKEEPER_NEMESIS_LASTING";
constexpr const char* kMemory = "/mnt";  // a folder that every system has; hidden from nobody else

Words apart() {
  Words words = {"unshare"};
  if (::geteuid() != 0) words.insert(words.end(), {"--user", "--map-root-user"});
  words.insert(words.end(),
               {"--net", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc"});
  return words;
}

std::vector<char*> pointers(const Words& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

bool has(const char* program) {
  return run({"sh", "-c", std::string("command -v ") + program}).status == 0;
}

// In the order in which they are asked; empty: nothing is missing.
std::string missing() {
  if (!etcd_testing::programs()) return etcd_testing::why_not();
  for (const char* const program : {"unshare", "nft", "ip", "openssl"}) {
    if (!has(program)) {
      return std::string(program) + " is not installed (packages util-linux, nftables, iproute2, " +
             "openssl)";
    }
  }
  Words probe = apart();
  probe.insert(probe.end(), {"sh", "-c",
                             "mount -t tmpfs none /mnt && ip link add name probe0 type bridge && "
                             "nft add table bridge probe"});
  const Ran ran = run(probe);
  if (ran.status == 0) return "";
  return "the kernel gives nobody here a network of its own; as root it may: " + ran.out;
}

std::string reason;  // why not

}  // namespace

void go_apart(char** argv) {
  if (std::getenv(kApart) != nullptr) {
    LOCKKEEPER_ASSERT(::mount("none", kMemory, "tmpfs", 0, "mode=0700") == 0);
    ::setenv("TMPDIR", kMemory, 1);
    return;
  }
  reason = missing();
  if (!reason.empty()) return;
  // The shell is the first process there: it takes care of what has lost its parent.
  Words words = apart();
  words.insert(words.end(), {"sh", "-c", "\"$@\"; exit $?", "sh"});
  std::error_code none;
  words.push_back(std::filesystem::read_symlink("/proc/self/exe", none).string());
  for (char** word = argv + 1; *word != nullptr; ++word) words.emplace_back(*word);
  ::setenv(kApart, "1", 1);
  ::setenv(kLasting, std::filesystem::temp_directory_path(none).c_str(), 1);
  const std::vector<char*> all = pointers(words);
  ::execvp(all[0], all.data());
  reason = std::string("cannot start unshare: ") + std::strerror(errno);
}

std::string why_not() {
  return reason;
}

std::string lasting_folder() {
  const char* const folder = std::getenv(kLasting);
  return folder == nullptr ? "/tmp" : folder;
}

Ran run(const Words& words, const std::string& input) {
  std::string name = (std::filesystem::temp_directory_path() / "lockkeeper-run-XXXXXX").string();
  const Fd out(::mkstemp(name.data()));
  const std::string in_name = name + ".in";
  stage::write_text(in_name, input);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(::open(in_name.c_str(), O_RDONLY), 0);
    ::dup2(out.get(), 1);
    ::dup2(out.get(), 2);
    const std::vector<char*> all = pointers(words);
    ::execvp(all[0], all.data());
    ::_exit(127);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : 128, stage::read_text(name)};
  ::unlink(name.c_str());
  ::unlink(in_name.c_str());
  return ran;
}

std::string must(const Words& words, const std::string& input) {
  const Ran ran = run(words, input);
  std::string shown;
  for (const std::string& word : words) shown += word + " ";
  EXPECT_EQ(ran.status, 0) << shown << ": " << ran.out << input;
  return ran.out;
}

Stay::Stay(const Machine& machine) : home_(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) {
  LOCKKEEPER_ASSERT(home_ && ::setns(machine.net.get(), CLONE_NEWNET) == 0);
}

Stay::~Stay() {
  LOCKKEEPER_ASSERT(::setns(home_.get(), CLONE_NEWNET) == 0);
}

Network::Network() {
  run({"ip", "link", "del", "br0"});  // of an earlier test of this process
  must({"ip", "link", "set", "lo", "up"});
  must({"ip", "link", "add", "name", "br0", "type", "bridge"});
  must({"ip", "address", "add", "10.77.0.1/24", "dev", "br0"});
  must({"ip", "link", "set", "br0", "up"});
  heal();
}

Machine Network::add(const std::string& name) {
  Machine machine{name, "10.77.0." + std::to_string(10 + ++machines_), {}};
  {
    const Fd home(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    LOCKKEEPER_ASSERT(::unshare(CLONE_NEWNET) == 0);
    machine.net = Fd(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    // The first process is still at home.
    must({"ip", "link", "add", "eth0", "type", "veth", "peer", "name", "v-" + name, "netns", "1"});
    must({"ip", "address", "add", machine.address + "/24", "dev", "eth0"});
    must({"ip", "link", "set", "eth0", "up"});
    must({"ip", "link", "set", "lo", "up"});
    LOCKKEEPER_ASSERT(::setns(home.get(), CLONE_NEWNET) == 0);
  }
  must({"ip", "link", "set", "v-" + name, "master", "br0"});
  must({"ip", "link", "set", "v-" + name, "up"});
  return machine;
}

void Network::set_rules(const std::string& rules) const {
  must({"nft", "-f", "-"},
       "table bridge nemesis\ndelete table bridge nemesis\ntable bridge nemesis {\n"
       "chain forward { type filter hook forward priority 0; policy accept;\n" +
           rules + "}\n}\n");
}

void set_rules_of(const Machine& machine, const std::string& input, const std::string& output) {
  const Stay stay(machine);
  must({"nft", "-f", "-"},
       "table ip nemesis\ndelete table ip nemesis\ntable ip nemesis {\n"
       "chain in { type filter hook input priority 0; policy accept;\n" +
           input + "}\nchain out { type nat hook output priority -100; policy accept;\n" + output +
           "}\n}\n");
}

}  // namespace lockkeeper::nemesis
