#include "nemesis/members.h"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/assert.h"
#include "etcd/cluster.h"
#include "kv/etcd/client.h"

namespace lockkeeper::nemesis {
namespace {

constexpr const char* kDisk = "size=1g,mode=0700";
constexpr std::chrono::milliseconds kAlarmComesBack{500};
// One look at a member that may be stopped.
constexpr kv::etcd::Patience kGlance{std::chrono::milliseconds(700),
                                     std::chrono::milliseconds(700)};

std::optional<kv::etcd::Status> status_of(const std::string& address) {
  const auto parsed = kv::etcd::parse_address("etcd://" + address + ":2379/");
  LOCKKEEPER_ASSERT(parsed.has_value());
  const auto client = kv::etcd::Client::open(*parsed, kGlance);
  if (!client) return std::nullopt;
  const auto status = (*client)->status();
  return status ? std::optional(*status) : std::nullopt;
}

std::string program(const std::string& name) {
  return etcd_testing::programs().value() + "/" + name;
}

}  // namespace

Members::Members(Network& network, std::size_t quota_mb) : quota_(std::to_string(quota_mb << 20U)) {
  std::string name = (std::filesystem::temp_directory_path() / "members-XXXXXX").string();
  LOCKKEEPER_ASSERT(::mkdtemp(name.data()) != nullptr);
  folder_ = name;
  for (std::size_t i = 0; i < kCount; ++i) {
    Member member{network.add("e" + std::to_string(i)), "e" + std::to_string(i), {}, true, {}};
    member.disk = folder_ + "/" + member.name;
    std::filesystem::create_directory(member.disk);
    LOCKKEEPER_ASSERT(::mount("none", member.disk.c_str(), "tmpfs", 0, kDisk) == 0);
    all_.push_back(std::move(member));
  }
  for (std::size_t i = 0; i < kCount; ++i) start(i);
  wait_until_sound();
}

Members::~Members() {
  for (std::size_t i = 0; i < kCount; ++i) kill(i);
  for (const Member& member : all_) ::umount2(member.disk.c_str(), MNT_DETACH);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Members::url(const std::string& prefix) const {
  std::string all;
  for (const Member& member : all_) {
    all += (all.empty() ? "" : ",") + member.machine.address + ":2379";
  }
  return "etcd://" + all + "/" + prefix;
}

std::string Members::peers() const {
  std::string all;
  for (const Member& member : all_) {
    all += (all.empty() ? "" : ",") + member.name + "=http://" + member.machine.address + ":2380";
  }
  return all;
}

// That one first: etcdctl asks in this order.
std::string Members::clients(std::size_t from) const {
  std::string all;
  for (std::size_t i = 0; i < kCount; ++i) {
    all += (all.empty() ? "" : ",") + all_[(from + i) % kCount].machine.address + ":2379";
  }
  return all;
}

void Members::start(std::size_t i) {
  if (runs(i)) return;
  Member& member = all_[i];
  const std::string http = "http://" + member.machine.address;
  stage::Launch launch;
  launch.argv = {program("etcd"), "--name", member.name, "--data-dir", member.disk + "/data",
                 "--listen-client-urls", http + ":2379," + http + ":2389",
                 "--advertise-client-urls", http + ":2379", "--listen-peer-urls", http + ":2380",
                 "--initial-advertise-peer-urls", http + ":2380", "--initial-cluster", peers(),
                 "--initial-cluster-state", member.fresh ? "new" : "existing", "--log-level",
                 "error",
                 // Nothing here is as if the power had failed, and the disks are memory.
                 "--unsafe-no-fsync", "--max-request-bytes", "16777216", "--quota-backend-bytes",
                 quota_, "--auto-compaction-mode", "periodic", "--auto-compaction-retention", "1m"};
  launch.folder = folder_;
  launch.env = {{"PATH", "/usr/bin:/bin"}, {"GOMAXPROCS", "2"}};
  launch.out = launch.err = folder_ + "/" + member.name + ".log";
  const Stay stay(member.machine);
  member.process = std::make_unique<stage::Process>(std::move(launch));
}

bool Members::runs(std::size_t i) {
  return all_[i].process != nullptr && all_[i].process->running();
}

void Members::kill(std::size_t i) {
  if (all_[i].process == nullptr) return;
  all_[i].process->signal(SIGKILL);
  all_[i].process->wait();
  all_[i].process.reset();
}

void Members::stop(std::size_t i) {
  if (runs(i)) all_[i].process->signal(SIGSTOP);
}

void Members::go_on(std::size_t i) {
  if (runs(i)) all_[i].process->signal(SIGCONT);
}

std::optional<std::size_t> Members::leader() const {
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto status = status_of(all_[i].machine.address);
    if (status && status->leader != 0 && status->leader == status->header.member_id) return i;
  }
  return std::nullopt;
}

bool Members::sound() const {
  std::uint64_t leader = 0;
  for (const Member& member : all_) {
    const auto status = status_of(member.machine.address);
    if (!status || status->leader == 0 || !status->errors.empty()) return false;
    if (leader != 0 && status->leader != leader) return false;
    leader = status->leader;
  }
  return true;
}

void Members::wait_until_sound() {
  const bool well = stage::eventually([&] {
    for (std::size_t i = 0; i < kCount; ++i) start(i);
    return sound();
  });
  std::string logs;
  if (!well) {
    for (const Member& member : all_) {
      const std::string log = stage::read_text(folder_ + "/" + member.name + ".log");
      logs += log.substr(log.size() > 2000 ? log.size() - 2000 : 0);
    }
  }
  EXPECT_TRUE(well) << "the members of etcd do not agree\n" << logs;
}

std::string Members::ctl(const Words& words, bool must_work, std::size_t member) const {
  Words all = {program("etcdctl"), "--endpoints", clients(member)};
  all.insert(all.end(), words.begin(), words.end());
  return must_work ? must(all) : run(all).out;
}

void Members::move_leader() const {
  const auto from = leader();
  if (!from) return;
  const auto next = status_of(all_[(*from + 1) % kCount].machine.address);
  if (!next) return;
  char id[17];
  std::snprintf(id, sizeof id, "%llx", static_cast<unsigned long long>(next->header.member_id));
  ctl({"move-leader", id}, false, *from);  // somebody else may lead by now
}

void Members::compact() const {
  const auto status = status_of(all_[0].machine.address);
  if (!status) return;
  // etcd itself may be faster. Physically: else it begins to remove, and answers.
  ctl({"compact", "--physical", std::to_string(status->header.revision)}, false);
}

void Members::defragment(std::size_t i) const {
  must({program("etcdctl"), "--endpoints", all_[i].machine.address + ":2379", "--command-timeout",
        "60s", "defrag"});
}

void Members::forget(Member& member) const {
  std::filesystem::remove_all(member.disk + "/data");
}

void Members::replace(std::size_t i) {
  kill(i);
  // It may also tell of a member that it did not reach, a line each.
  const std::string told = ctl({"member", "list", "-w", "json"}, true, i + 1);
  const std::size_t from = std::min(told.find(R"({"header")"), told.size());
  const auto list = nlohmann::json::parse(told.substr(from, told.find('\n', from) - from));
  for (const auto& one : list["members"]) {
    if (one.value("name", "") != all_[i].name) continue;
    char id[17];
    std::snprintf(id, sizeof id, "%llx",
                  static_cast<unsigned long long>(one["ID"].get<std::uint64_t>()));
    ctl({"member", "remove", id}, true, i + 1);
  }
  forget(all_[i]);
  all_[i].fresh = false;
  // Not before the two others know each other to be there.
  EXPECT_TRUE(stage::eventually([&] {
    Words words = {program("etcdctl"), "--endpoints", clients(i + 1)};
    words.insert(words.end(), {"member", "add", all_[i].name,
                               "--peer-urls=http://" + all_[i].machine.address + ":2380"});
    return run(words).status == 0;
  }));
  start(i);
}

// It has room for what is there, and for nothing else.
void Members::fill_disk(std::size_t i) const {
  const std::filesystem::space_info space = std::filesystem::space(all_[i].disk);
  const std::string size = "size=" + std::to_string(space.capacity - space.free);
  EXPECT_EQ(::mount("none", all_[i].disk.c_str(), nullptr, MS_REMOUNT, size.c_str()), 0) << errno;
}

void Members::free_disk(std::size_t i) const {
  EXPECT_EQ(::mount("none", all_[i].disk.c_str(), nullptr, MS_REMOUNT, kDisk), 0) << errno;
}

// etcdctl sends two megabytes at most.
void Members::use_up_quota() const {
  kv::etcd::TxnRequest request;
  request.then.emplace_back(kv::etcd::Put{"/junk", std::string(4U << 20U, 'x')});
  const bool full = stage::eventually([&] {
    const auto client = kv::etcd::Client::open(kv::etcd::parse_address(url("")).value());
    if (!client) return false;
    for (;;) {
      const auto answer = (*client)->txn(request);
      if (answer.end == kv::etcd::TxnAnswer::End::kDone) continue;
      return answer.error.code == Code::kNoSpace;
    }
  });
  EXPECT_TRUE(full) << "etcd takes whatever it is given";
}

// A member may still be removing what was compacted away, or raise the alarm for a request that it
// has refused before.
void Members::give_back_quota() const {
  ctl({"del", "/junk"}, false);
  compact();
  EXPECT_TRUE(stage::eventually([&] {
    for (std::size_t i = 0; i < kCount; ++i) defragment(i);
    ctl({"alarm", "disarm"});
    std::this_thread::sleep_for(kAlarmComesBack);
    return ctl({"alarm", "list"}).empty();
  })) << "the alarm comes back";
}

void Members::save(const std::string& file) const {
  must({program("etcdctl"), "--endpoints", all_[0].machine.address + ":2379", "snapshot", "save",
        file});
}

void Members::restore(const std::string& file, Restore how) {
  for (std::size_t i = 0; i < kCount; ++i) kill(i);
  for (Member& member : all_) {
    forget(member);
    member.fresh = true;
    Words words = {program("etcdutl"),
                   "snapshot",
                   "restore",
                   file,
                   "--name",
                   member.name,
                   "--data-dir",
                   member.disk + "/data",
                   "--initial-cluster",
                   peers(),
                   "--initial-advertise-peer-urls",
                   "http://" + member.machine.address + ":2380"};
    if (how == Restore::kBumped) {
      words.insert(words.end(), {"--bump-revision", "1000000000", "--mark-compacted"});
    }
    must(words);
  }
  for (std::size_t i = 0; i < kCount; ++i) start(i);
  wait_until_sound();
}

}  // namespace lockkeeper::nemesis
