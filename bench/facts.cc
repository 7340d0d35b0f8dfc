#include "bench/facts.h"

#include <fmt/format.h>
#include <lmdb.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/child.h"
#include "bench/peers/etcd_cluster.h"
#include "bench/peers/peers.h"

namespace lockkeeper::bench {
namespace {

// Of the mount that the path lies in.
std::string filesystem_of(const std::string& path) {
  std::ifstream mounts("/proc/self/mounts");
  std::string best;
  std::string type;
  for (std::string device, point, kind, rest; mounts >> device >> point >> kind;) {
    std::getline(mounts, rest);
    const bool inside = point == "/" || path == point || path.starts_with(point + "/");
    if (!inside || point.size() < best.size()) continue;
    best = point;
    type = kind;
  }
  return type;
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "";
}

std::string load() {
  double average[1] = {0};
  return ::getloadavg(average, 1) == 1 ? fmt::format("{:.1f}", average[0]) : "";
}

// From the first digit to what ends a number.
std::string number_in(const std::string& text) {
  const std::size_t from = text.find_first_of("0123456789");
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_first_of(" ,()", from) - from);
}

std::string version_of(const std::string& program, const std::string& option = "--version") {
  return find_program(program).empty() ? "" : number_in(first_line({program, option}));
}

std::string lockfile_version() {
  const char* modules = std::getenv("LOCKKEEPER_BENCH_NODE_MODULES");
  if (modules == nullptr) return "";
  std::ifstream package(std::string(modules) + "/proper-lockfile/package.json");
  for (std::string line; std::getline(package, line);) {
    if (line.find("\"version\"") != std::string::npos) {
      const std::string number = number_in(line);
      return number.substr(0, number.find('"'));
    }
  }
  return "";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> gather_facts(const Setup& setup) {
  utsname names{};
  ::uname(&names);
  struct sysinfo memory{};
  ::sysinfo(&memory);
  const double gib = static_cast<double>(memory.totalram) * memory.mem_unit / (1 << 30);
  std::vector<std::pair<std::string, std::string>> facts = {
      {"machine", names.machine},
      {"processor", processor()},
      {"cores", std::to_string(std::thread::hardware_concurrency())},
      {"memory", fmt::format("{:.0f} GiB", gib)},
      {"kernel", names.release},
      {"filesystem", filesystem_of(setup.folder)},
      {"load at the start", load()},
      {"lockkeeper", version_of(setup.lockkeeper)},
      {"LMDB", fmt::format("{}.{}.{}", MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH)},
      {"SQLite", sqlite_version()},
      {"Redis", version_of("redis-server")},
      {"PostgreSQL", version_of("psql")},
      {"etcd", version_of("etcd")},
      {"etcd, three members", version_of(etcd_folder() + "/etcd")},
      {"bash", version_of("bash")},
      {"flock", version_of("flock")},
      {"node", version_of("node")},
      {"proper-lockfile", lockfile_version()},
  };
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

}  // namespace lockkeeper::bench
