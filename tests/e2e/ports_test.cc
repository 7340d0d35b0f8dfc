// Ports with real processes and real listeners.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <filesystem>
#include <set>

#include "base/fd.h"
#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

constexpr int kBase = 23'000;  // below where the kernel takes ports for outgoing connections

class PortsRace : public testing::Test {
 protected:
  PortsRace() { stage_.env["PORT_ALLOC_BASE"] = std::to_string(kBase); }

  Launch allocate(const std::string& session) {
    return stage_.launch("", {"ports", "allocate", session, "--json"});
  }
  int first(const std::string& session) {
    const Answer answer = stage_.finish(allocate(session));
    EXPECT_EQ(answer.status, 0) << answer.all();
    return answer.status == 0 ? answer.json()["allocation"]["db_port"].get<int>() : 0;
  }
  Json status() { return stage_.finish(stage_.launch("", {"ports", "status", "--json"})).json(); }

  Stage stage_;
};

// A listener on that port of that address; none if the machine has no such address.
Fd listener(int family, const char* where, int port) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  ::inet_pton(AF_INET, where, &v4.sin_addr);
  ::inet_pton(AF_INET6, where, &v6.sin6_addr);
  const bool is_v4 = family == AF_INET;
  const auto* const address =
      is_v4 ? reinterpret_cast<sockaddr*>(&v4) : reinterpret_cast<sockaddr*>(&v6);
  const socklen_t size = is_v4 ? sizeof v4 : sizeof v6;
  if (::bind(fd.get(), address, size) != 0 || ::listen(fd.get(), 4) != 0) return Fd();
  return fd;
}

TEST_F(PortsRace, I1_ManyProcessesOfSeveralRepositoriesNeverShareAPort) {
  stage_.git("home", {"init", "-q", "."});
  std::vector<Process> racers;
  for (int i = 0; i < 24; ++i) {
    Launch launch = allocate("session-" + std::to_string(i));
    if (i % 2 == 1) launch.folder = stage_.path("home");  // another realm, the same machine
    racers.emplace_back(std::move(launch));
  }
  std::set<int> ports;
  int refused = 0;
  for (Process& racer : racers) {
    const int exit_status = racer.wait();
    const Json json = Json::parse(racer.out(), nullptr, false);
    ASSERT_TRUE(json.is_object()) << racer.out() << racer.err();
    if (exit_status == 0) {
      EXPECT_TRUE(ports.insert(json["allocation"]["db_port"].get<int>()).second) << json;
    } else {
      EXPECT_EQ(exit_status, 73);
      EXPECT_EQ(json["reason"], "no_ports_available");
      ++refused;
    }
  }
  EXPECT_EQ(ports.size(), 20U);
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(*ports.begin(), kBase);
  EXPECT_EQ(*ports.rbegin(), kBase + 1'900) << "the lowest slots, all of them";
  EXPECT_EQ(status()["allocations"].size(), 20U);
}

TEST_F(PortsRace, I8_OneSessionAskedForByManyAtOnceHasOneSlot) {
  std::vector<Process> racers;
  for (int i = 0; i < 10; ++i) racers.emplace_back(allocate("same"));
  for (Process& racer : racers) {
    EXPECT_EQ(racer.wait(), 0);
    EXPECT_THAT(racer.out(), HasSubstr("\"db_port\":" + std::to_string(kBase)));
  }
  EXPECT_EQ(status()["allocations"].size(), 1U);
}

TEST_F(PortsRace, SlotsWithAListenerAreSkipped) {
  struct Case {
    int family;
    const char* where;
    int offset;
  };
  std::vector<Fd> listeners;
  int slot = 0;
  for (const Case& one : {Case{AF_INET, "127.0.0.1", 0}, Case{AF_INET, "0.0.0.0", 3},
                          Case{AF_INET6, "::1", 1}, Case{AF_INET6, "::", 2}}) {
    Fd fd = listener(one.family, one.where, kBase + slot * 100 + one.offset);
    if (!fd) continue;  // no IPv6 here
    listeners.push_back(std::move(fd));
    ++slot;
  }
  ASSERT_GE(slot, 2);
  EXPECT_EQ(first("a"), kBase + slot * 100);
  listeners.clear();
  EXPECT_EQ(first("b"), kBase);
  // Its own services listen by now: it keeps what it has.
  const Fd own = listener(AF_INET, "127.0.0.1", kBase + slot * 100);
  EXPECT_EQ(first("a"), kBase + slot * 100);
}

TEST_F(PortsRace, I5_KilledInTheMiddleItIsAllOrNothing) {
  for (int i = 0; i < 30; ++i) {
    const std::string session = "killed-" + std::to_string(i);
    Process one(allocate(session));
    pause_ms(i % 8);
    one.signal(SIGKILL);
    one.wait();
    const int port = first(session);
    EXPECT_EQ(port, kBase) << "the lowest, whether it had it already or not";
    ASSERT_EQ(stage_.finish(stage_.launch("", {"ports", "release", session})).status, 0);
  }
  EXPECT_EQ(status()["allocations"].size(), 0U);
}

TEST_F(PortsRace, ExpiryFreesTheSlot) {
  stage_.file("lockkeeper.toml", "[ports]\nttl = \"1s\"\n");
  EXPECT_EQ(first("a"), kBase);
  EXPECT_TRUE(eventually([&] { return status()["allocations"].empty(); }));
  EXPECT_EQ(first("b"), kBase);
}

TEST_F(PortsRace, HostileSessionsStayInTheirPlace) {
  for (const char* const hostile : {"../../../etc", "a/b", "$(touch x)", "'; rm -rf .; '", "é",
                                    "a&b,c", "123", "true", "%2F"}) {
    const Answer answer = stage_.finish(allocate(hostile));
    ASSERT_EQ(answer.status, 0) << hostile << answer.all();
    EXPECT_EQ(answer.json()["session_id"], hostile);
    const std::string name = answer.json()["allocation"]["compose_project_name"];
    EXPECT_EQ(name.size(), 11U);
    EXPECT_EQ(answer.json()["env_snippet"].get<std::string>().find(hostile), std::string::npos)
        << "nothing of the name reaches a shell";
  }
  EXPECT_EQ(status()["allocations"].size(), 9U);
  for (const char* const bad : {"", " ", "a\nb", "\x1b[2J", "\xff"}) {
    EXPECT_EQ(stage_.finish(allocate(bad)).status, 65) << bad;
  }
  EXPECT_EQ(stage_.finish(allocate(std::string(201, 'x'))).status, 65);
}

TEST_F(PortsRace, NativelyNobodyHoldsAPort) {
  first("a");
  stage_.expect(77, "ann", {"acquire", "port:" + std::to_string(kBase)});
  const Json all = stage_.expect(0, "", {"list", "--all-realms"}).json();
  EXPECT_THAT(all.dump(), HasSubstr("port:" + std::to_string(kBase)));
}

}  // namespace
}  // namespace lockkeeper::stage
