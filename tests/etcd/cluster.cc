#include "etcd/cluster.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/assert.h"
#include "base/fd.h"
#include "base/random.h"
#include "support/reserved_port.h"

namespace lockkeeper::etcd_testing {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kPatience{60};
constexpr std::chrono::milliseconds kLook{20};

std::optional<std::string> folder_with_etcd(const char* variable, const char* otherwise) {
  const char* const named = std::getenv(variable);
  std::string folder = named != nullptr ? named : otherwise;
  if (::access((folder + "/etcd").c_str(), X_OK) == 0) return folder;
  return std::nullopt;
}

// Runs in a child: never returns.
[[noreturn]] void become(const std::vector<std::string>& argv, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing is left behind, whoever ends us
  ::dup2(out, 1);
  ::dup2(out, 2);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

pid_t spawn(const std::vector<std::string>& argv, int out) {
  // The death signal is of the thread that forks: tests start members from the main one.
  const pid_t pid = ::fork();
  if (pid == 0) become(argv, out);
  return pid;
}

std::string all_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

std::optional<std::string> programs() {
  return folder_with_etcd("LOCKKEEPER_ETCD", LOCKKEEPER_ETCD_FOLDER);
}

std::optional<std::string> old_programs() {
  return folder_with_etcd("LOCKKEEPER_ETCD_OLD", LOCKKEEPER_ETCD_OLD_FOLDER);
}

std::string why_not() {
  return "there is no etcd in build/etcd: ./dev test fetches it where apt has a mirror of Debian";
}

Cluster::Cluster(ClusterOptions options) : options_(std::move(options)) {
  if (options_.tls) make_certificates();
  for (int i = 0; i < options_.members; ++i) {
    members_.push_back({"m" + std::to_string(i), stage::reserved_port(), stage::reserved_port()});
  }
  for (Member& member : members_) launch(member);
  if (!options_.old) wait_until_it_serves();
}

Cluster::~Cluster() {
  for (std::size_t i = 0; i < members_.size(); ++i) kill(i);
}

std::string Cluster::endpoint(std::size_t member) const {
  return "127.0.0.1:" + std::to_string(members_.at(member).client_port);
}

std::string Cluster::url(const std::string& rest) const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < members_.size(); ++i) all.push_back(i);
  return url_of(all, rest);
}

std::string Cluster::url_of(const std::vector<std::size_t>& members,
                            const std::string& rest) const {
  std::string url;
  for (const std::size_t member : members) url += (url.empty() ? "" : ",") + endpoint(member);
  url = (options_.tls ? "etcds://" : "etcd://") + url + rest;
  if (!options_.tls) return url;
  return url + (rest.find('?') == std::string::npos ? "?" : "&") + "ca=" + file("ca.pem") +
         "&cert=" + file("client.pem") + "&key=" + file("client.key");
}

std::string Cluster::initial_cluster() const {
  std::string all;
  for (const Member& member : members_) {
    all += (all.empty() ? "" : ",") + member.name +
           "=http://127.0.0.1:" + std::to_string(member.peer_port);
  }
  return all;
}

void Cluster::launch(Member& member) const {
  const std::string client = scheme() + "127.0.0.1:" + std::to_string(member.client_port);
  const std::string peer = "http://127.0.0.1:" + std::to_string(member.peer_port);
  std::vector<std::string> argv = {
      options_.old ? old_programs().value() + "/etcd" : programs().value() + "/etcd", "--name",
      member.name, "--data-dir", file(member.name), "--listen-client-urls", client,
      "--advertise-client-urls", client, "--listen-peer-urls", peer,
      "--initial-advertise-peer-urls", peer, "--initial-cluster", initial_cluster(), "--log-level",
      "error",
      // The contract's largest value; and nobody needs these rows after a power cut.
      "--max-request-bytes", "16777216", "--unsafe-no-fsync"};
  if (options_.old) argv.pop_back();
  if (options_.tls) {
    const std::vector<std::string> tls = {"--cert-file",       file("server.pem"),  "--key-file",
                                          file("server.key"),  "--trusted-ca-file", file("ca.pem"),
                                          "--client-cert-auth"};
    argv.insert(argv.end(), tls.begin(), tls.end());
  }
  argv.insert(argv.end(), options_.arguments.begin(), options_.arguments.end());
  const Fd log(
      ::open(file(member.name + ".log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600));
  member.pid = spawn(argv, log.get());
}

void Cluster::kill(std::size_t member) {
  pid_t& pid = members_.at(member).pid;
  if (pid <= 0) return;
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  pid = -1;
}

void Cluster::start(std::size_t member) {
  launch(members_.at(member));
}

void Cluster::stop(std::size_t member) const {
  ::kill(members_.at(member).pid, SIGSTOP);
}

void Cluster::go_on(std::size_t member) const {
  ::kill(members_.at(member).pid, SIGCONT);
}

void Cluster::wait_until_it_serves() const {
  const auto until = steady_clock::now() + kPatience;
  std::string why;
  while (steady_clock::now() < until) {
    std::size_t serving = 0;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      auto address = kv::etcd::parse_address(url_of({i}));
      LOCKKEEPER_ASSERT(address.has_value());
      const auto client = kv::etcd::Client::open(*address);
      if (client) ++serving;
      if (!client) why = client.error().message;
    }
    if (serving == members_.size()) return;
    std::this_thread::sleep_for(kLook);
  }
  ADD_FAILURE() << "etcd does not serve: " << why << "\n"
                << all_of(file(members_[0].name + ".log"));
}

std::size_t Cluster::leader() const {
  const auto until = steady_clock::now() + kPatience;
  while (steady_clock::now() < until) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const auto client = kv::etcd::Client::open(kv::etcd::parse_address(url_of({i})).value());
      if (!client) continue;
      const auto status = (*client)->status();
      if (status && status->leader == status->header.member_id) return i;
    }
    std::this_thread::sleep_for(kLook);
  }
  ADD_FAILURE() << "nobody leads";
  return 0;
}

std::string Cluster::run(const std::string& program,
                         const std::vector<std::string>& arguments) const {
  static std::atomic<int> number = 0;
  std::vector<std::string> argv = {programs().value() + "/" + program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  const std::string out = file("out." + std::to_string(++number));
  const Fd log(::open(out.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600));
  const pid_t pid = spawn(argv, log.get());
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << program << " " << arguments[0] << ": " << all_of(out);
  return all_of(out);
}

void Cluster::enable_users() const {
  ctl({"role", "add", "team"});
  ctl({"role", "grant-permission", "team", "--prefix=true", "readwrite", "/team/"});
  ctl({"user", "add", "hub", "--new-user-password", "Geheim1"});
  ctl({"user", "grant-role", "hub", "team"});
  ctl({"user", "add", "root", "--new-user-password", "Wurzel1"});
  ctl({"user", "grant-role", "root", "root"});
  ctl({"auth", "enable"});
}

std::string Cluster::ctl(const std::vector<std::string>& arguments) const {
  std::vector<std::string> all = {"--endpoints", scheme() + endpoint(0)};
  if (options_.tls) {
    const std::vector<std::string> tls = {"--cacert",         file("ca.pem"), "--cert",
                                          file("client.pem"), "--key",        file("client.key")};
    all.insert(all.end(), tls.begin(), tls.end());
  }
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run("etcdctl", all);
}

void Cluster::restore(const std::string& snapshot) {
  LOCKKEEPER_ASSERT(members_.size() == 1);
  kill(0);
  std::filesystem::remove_all(file(members_[0].name));
  run("etcdutl", {"snapshot", "restore", snapshot, "--name", members_[0].name, "--data-dir",
                  file(members_[0].name), "--initial-cluster", initial_cluster(),
                  "--initial-advertise-peer-urls",
                  "http://127.0.0.1:" + std::to_string(members_[0].peer_port)});
  start(0);
  wait_until_it_serves();
}

void Cluster::make_certificates() const {
  const std::string script =
      "set -e; cd \"$1\"; exec 2>openssl.log\n"
      "new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj \"/CN=$1\" "
      "-keyout $1.key -out $1.csr; }\n"
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ca "
      "-keyout ca.key -out ca.pem -days 2\n"
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=other "
      "-keyout other.key -out other.pem -days 2\n"
      "printf 'subjectAltName=IP:127.0.0.1\\n' >server.ext\n"
      "for name in server client; do new $name; done\n"
      "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
      "-extfile server.ext -out server.pem\n"
      "openssl x509 -req -in client.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
      "-out client.pem\n"
      "chmod 600 ./*.key\n";
  const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const pid_t pid = spawn({"/bin/sh", "-c", script, "sh", folder_.path()}, null.get());
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0) << all_of(file("openssl.log"));
}

Cluster& shared_cluster() {
  static Cluster cluster;
  return cluster;
}

std::string fresh_prefix() {
  static std::atomic<int> number = 0;
  return "/test-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
}

std::unique_ptr<kv::EtcdStore> open_store(const std::string& url, const std::string& seen_file,
                                          kv::EtcdOptions options) {
  auto address = kv::etcd::parse_address(url);
  EXPECT_TRUE(address.has_value()) << address.error().message;
  LOCKKEEPER_ASSERT(address.has_value());
  options.address = std::move(*address);
  options.seen_file = seen_file;
  auto store = kv::EtcdStore::open(std::move(options));
  EXPECT_TRUE(store.has_value()) << store.error().message;
  LOCKKEEPER_ASSERT(store.has_value());
  return std::move(*store);
}

}  // namespace lockkeeper::etcd_testing
