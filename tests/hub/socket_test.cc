// How clients reach the hub: TLS, a Unix socket, a socket of the service manager; and what the
// manager and Prometheus are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <csignal>

#include "base/fd.h"
#include "hub/hub_peer.h"

namespace lockkeeper::proof {
namespace {

using stage::Words;
using testing::HasSubstr;

class HubSockets : public testing::Test {
 protected:
  bool has(const char* program) {
    return stage_.finish(stage_.command({"sh", "-c", std::string("command -v ") + program}))
               .status == 0;
  }
  stage::Answer run(const Words& words) { return stage_.finish(stage_.command(words)); }
  void make_certificate() {
    const auto made = run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                           "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                           "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                           stage_.path("key.pem"), "-out", stage_.path("cert.pem")});
    ASSERT_EQ(made.status, 0) << made.all();
  }
  stage::Answer curl(const std::string& url, Words more = {}) {
    Words words = {"curl",       "-s",
                   "--max-time", "60",
                   "-H",         "Authorization: Bearer " + token_,
                   "-H",         "Content-Type: application/json",
                   "-H",         "Lockkeeper-Agent: a"};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(url);
    return run(words);
  }

  stage::Stage stage_;
  const std::string token_ = add_token(stage_, "alice");
};

TEST_F(HubSockets, TlsFromTheFirstByteToTheLast) {
  if (!has("openssl") || !has("curl")) GTEST_SKIP() << "openssl or curl is not installed";
  make_certificate();
  HubServer hub(stage_,
                {"--tls-cert", stage_.path("cert.pem"), "--tls-key", stage_.path("key.pem")});
  EXPECT_THAT(hub.banner(), HasSubstr("https://127.0.0.1:"));
  const std::string url = "https://localhost:" + std::to_string(hub.port());
  const Words trust = {"--cacert", stage_.path("cert.pem")};
  Words change = trust;
  change.insert(change.end(), {"-d", R"({"resources":["src/a.py"]})"});
  const auto granted = curl(url + "/v1/acquire", change);
  EXPECT_EQ(granted.status, 0) << granted.all();
  EXPECT_THAT(granted.out, HasSubstr("a@alice"));
  // Several requests on one connection, a large answer, and no trust without the certificate.
  Words twice = trust;
  twice.push_back(url + "/v1/openapi.json");
  const auto large = curl(url + "/v1/openapi.json", twice);
  EXPECT_EQ(large.out.size(), 2 * stage::read_text(LOCKKEEPER_OPENAPI).size());
  EXPECT_NE(curl(url + "/v1/list").status, 0);
  // Plain text, and a client that says nothing, are in nobody's way.
  HubPeer plain(hub.port(), token_);
  EXPECT_EQ(plain.get("/v1/list").status, 0);
  http::TestClient silent(hub.port());
  EXPECT_EQ(curl(url + "/v1/list", trust).status, 0);
  // Old protocols are not spoken.
  Words old = trust;
  old.insert(old.end(), {"--tls-max", "1.1"});
  EXPECT_NE(curl(url + "/v1/list", old).status, 0);
  hub.process().signal(SIGTERM);
  EXPECT_EQ(hub.process().wait(), 0);
}

TEST_F(HubSockets, AKeyThatEverybodyCanReadIsRefused) {
  if (!has("openssl")) GTEST_SKIP() << "openssl is not installed";
  make_certificate();
  ASSERT_EQ(::chmod(stage_.path("key.pem").c_str(), 0644), 0);
  const auto refused =
      stage_.json("", {"serve", "--listen", "127.0.0.1:0", "--tls-cert", stage_.path("cert.pem"),
                       "--tls-key", stage_.path("key.pem")});
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.out, HasSubstr("chmod 600"));
}

TEST_F(HubSockets, AUnixSocketIsForItsUserAlone) {
  if (!has("curl")) GTEST_SKIP() << "curl is not installed";
  const std::string path = stage_.path("hub.sock");
  const Words words = {"serve",    "--listen", "unix:" + path, "--realm", "app=" + stage_.repo(),
                       "--no-auth"};
  for (const int end : {SIGKILL, SIGTERM}) {  // a socket that was left behind is replaced
    stage::Process hub = stage_.start("", words);
    ASSERT_TRUE(stage::eventually([&] { return hub.err().ends_with('\n'); })) << hub.err();
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    const auto listed = run({"curl", "-s", "--unix-socket", path, "http://localhost/v1/list"});
    EXPECT_THAT(listed.out, HasSubstr("\"leases\":["));
    EXPECT_NE(stage_.json("", words).status, 0);  // taken
    hub.signal(end);
    hub.wait();
  }
  EXPECT_FALSE(stage::exists(path));
}

// As systemd does it: the socket listens before the hub runs, and the hub says when it is ready.
TEST_F(HubSockets, TheManagersSocketIsUsedAndTheManagerIsTold) {
  const std::string path = stage_.path("manager.sock");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const Fd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const auto heard = [&] {
    pollfd wanted{manager.get(), POLLIN, 0};
    if (::poll(&wanted, 1, stage::kPatienceMs) != 1) return std::string();
    char text[100] = {};
    const ssize_t n = ::recv(manager.get(), text, sizeof text, 0);
    return std::string(text, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  };
  stage_.env["NOTIFY_SOCKET"] = path;
  // A shell stands in for the manager's fork: it opens the descriptor and becomes the hub.
  if (!has("python3")) GTEST_SKIP() << "python3 is not installed";
  const std::string script =
      "import os,socket,sys\n"
      "s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen(); s.set_inheritable(True)\n"
      "os.dup2(s.fileno(),3); os.environ['LISTEN_FDS']='1'\n"
      "os.environ['LISTEN_PID']=str(os.getpid()); os.execv(sys.argv[1],sys.argv[1:])\n";
  stage::Process hub(stage_.command({"python3", "-c", script, stage::Stage::program(), "serve",
                                     "--realm", "app=" + stage_.repo()}));
  EXPECT_EQ(heard(), "READY=1");
  const std::string banner = hub.err();
  const std::string mark = "http://127.0.0.1:";
  ASSERT_THAT(banner, HasSubstr(mark));
  const auto port =
      static_cast<std::uint16_t>(std::stoi(banner.substr(banner.find(mark) + mark.size())));
  EXPECT_NE(port, 7420);
  EXPECT_EQ(HubPeer(port, token_).get("/v1/list").status, 200);
  hub.signal(SIGTERM);
  EXPECT_EQ(hub.wait(), 0);
  EXPECT_EQ(heard(), "STOPPING=1");
}

TEST_F(HubSockets, PrometheusReadsTheMetrics) {
  HubServer hub(stage_);
  HubPeer a(hub.port(), token_, "a");
  HubPeer b(hub.port(), token_, "b");
  const Json file = {{"resources", {"secret/name.py"}}};
  EXPECT_EQ(a.post("/v1/acquire", file).status, 200);
  EXPECT_EQ(b.post("/v1/acquire", file).status, 409);
  EXPECT_EQ(b.post("/v1/acquire", {{"resources", {"secret/"}}, {"wait", "10m"}}).status, 202);
  const auto value = [&](const std::string& name) {
    const std::string body = a.get("/metrics").body;
    const auto at = body.find("\n" + name + " ");
    return at == std::string::npos ? "none" : body.substr(at + name.size() + 2, 1);
  };
  EXPECT_EQ(value("lockkeeper_requests_total{outcome=\"granted\"}"), "1");
  EXPECT_EQ(value("lockkeeper_requests_total{outcome=\"held\"}"), "1");
  EXPECT_EQ(value("lockkeeper_requests_total{outcome=\"queued\"}"), "1");
  EXPECT_EQ(value("lockkeeper_leases_held"), "1");
  EXPECT_EQ(value("lockkeeper_requests_waiting"), "1");
  EXPECT_EQ(a.post("/v1/release", file).status, 200);
  EXPECT_TRUE(stage::eventually(
      [&] { return value("lockkeeper_leases_ended_total{how=\"released\"}") == "1"; }));
  EXPECT_EQ(value("lockkeeper_hold_seconds_count"), "1");
  EXPECT_TRUE(stage::eventually([&] { return value("lockkeeper_wait_seconds_count") == "1"; }));
  const std::string body = a.get("/metrics").body;
  EXPECT_EQ(body.find("secret"), std::string::npos);
  EXPECT_EQ(body.find("alice"), std::string::npos);
  stage_.env["PATH"] += LOCKKEEPER_PROMTOOL;
  if (!has("promtool")) GTEST_SKIP() << "promtool is not installed";
  stage::write_text(stage_.path("metrics"), body);
  stage::Launch check = stage_.command({"sh", "-c", "exec promtool check metrics"});
  check.in = stage_.path("metrics");
  const auto checked = stage_.finish(check);
  EXPECT_EQ(checked.status, 0) << checked.all();
  EXPECT_EQ(checked.all(), "");
}

// The relay has asked another hub since: a grant would reach nobody.
TEST_F(HubSockets, I5_ARequestOfARelayThatHasGoneIsNotCarriedOut) {
  HubServer hub(stage_);
  const auto call = [](const std::string& file) {
    return Json{{"call", "acquire"},
                {"with",
                 {{"caller", {{"agent", "a"}}},
                  {"resources", {{{"key", file}, {"kind", "file"}, {"mode", "exclusive"}}}}}}};
  };
  const auto held = [&] {
    return HubPeer(hub.port(), token_, "t").get("/v1/list").json["leases"].size();
  };
  const std::string relay = std::string(32, 'a') + "@1";
  HubPeer stays(hub.port(), token_, "a");
  stays.headers["Lockkeeper-Relay"] = relay;
  const HubAnswer done = stays.post("/v1/call", call("first"));
  ASSERT_TRUE(done.json.contains("reply")) << done.body;
  ASSERT_EQ(held(), 1U);
  {
    HubPeer leaves(hub.port(), token_, "a");
    leaves.headers["Lockkeeper-Relay"] = relay;
    ASSERT_EQ(leaves.get("/v1/whoami").status, 200);  // it is connected
    hub.process().signal(SIGSTOP);
    leaves.send("POST", "/v1/call", call("late").dump());
  }
  // Others are known by nothing but what they have sent: that is done.
  {
    HubPeer leaves(hub.port(), token_, "a");
    leaves.send("POST", "/v1/acquire", Json{{"resources", {"kept"}}}.dump());
  }
  hub.process().signal(SIGCONT);
  EXPECT_TRUE(stage::eventually([&] { return held() == 2; }));
  EXPECT_EQ(HubPeer(hub.port(), token_, "t").get("/v1/list").body.find("late"), std::string::npos);
}

}  // namespace
}  // namespace lockkeeper::proof
