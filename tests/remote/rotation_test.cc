// A machine that knows several hubs. Each of the two here has a table of its own, so that it shows
// which one was asked; etcd_test.cc has those that serve one table.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>

#include "remote/machine.h"
#include "remote/proxy.h"

namespace lockkeeper::proof {
namespace {

using stage::Answer;
using stage::Process;
using stage::Words;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// One of two hubs, which both know the same tokens.
struct Hub {
  Hub(const std::string& tokens, std::string operators)
      : words{"--token-file", tokens}, token(std::move(operators)) {
    server = std::make_unique<HubServer>(home, words);
    port = server->port();
  }
  std::string url() const { return address_of(port); }
  void kill() { end(*server); }
  void restart() {
    Words more = words;
    more.insert(more.end(), {"--listen", "127.0.0.1:" + std::to_string(port)});
    server = std::make_unique<HubServer>(home, more);
  }
  HubPeer peer() const { return HubPeer(port, token, "t"); }
  std::size_t held() const { return peer().get("/v1/list?realm=app").json["leases"].size(); }
  void drain(bool on) const { EXPECT_EQ(peer().post("/v1/drain", {{"on", on}}).status, 200); }

  stage::Stage home;
  const Words words;
  const std::string token;
  std::unique_ptr<HubServer> server;
  std::uint16_t port = 0;
};

class Rotation : public testing::Test {
 protected:
  void log_in(const std::string& all) {
    const Answer done = here_.login(all, alice_);
    ASSERT_EQ(done.status, 0) << done.all();
    EXPECT_EQ(done.json()["server"], all);
    EXPECT_EQ(done.json()["name"], "alice");
  }
  std::string both() const { return a_.url() + "," + b_.url(); }
  std::string error_code(const Words& words) {
    return here_.json("x", words).json()["error"]["code"];
  }

  stage::Stage keeper_;  // of the tokens
  const std::string alice_ = add_token(keeper_, "alice");
  const std::string ops_ = add_token(keeper_, "ops", {"--role", "lock", "--role", "admin"});
  const std::string tokens_ = keeper_.path("home") + "/.config/lockkeeper/hub-tokens";
  Hub a_{tokens_, ops_};
  Hub b_{tokens_, ops_};
  Machine here_;
};

TEST_F(Rotation, TheAddressThatAnsweredLastIsAskedAgain) {
  log_in(both());
  here_.expect(0, "x", {"acquire", "a"});
  EXPECT_EQ(a_.held(), 1U);
  a_.kill();
  here_.expect(0, "x", {"acquire", "b"});
  EXPECT_EQ(b_.held(), 1U);
  a_.restart();
  here_.expect(0, "x", {"acquire", "c"});
  EXPECT_EQ(b_.held(), 2U) << "nobody goes back by itself";
  b_.kill();
  EXPECT_EQ(here_.expect(0, "x", {"list"}).json()["leases"][0]["resources"][0]["key"], "a");
  EXPECT_FALSE(here_.has_table());
}

TEST_F(Rotation, LoginTellsWhoDoesNotAnswer) {
  const Answer good = here_.login(both(), alice_);
  EXPECT_EQ(good.status, 0) << good.all();
  EXPECT_EQ(good.err, "");
  b_.kill();
  const Answer warned = here_.login(both(), alice_);
  EXPECT_EQ(warned.status, 0) << warned.all();
  EXPECT_THAT(warned.err, AllOf(HasSubstr(":" + std::to_string(b_.port)), HasSubstr("reached"),
                                Not(HasSubstr(":" + std::to_string(a_.port)))));
  a_.kill();
  here_.expect(0, "", {"logout", both()});
  const Answer nobody = here_.login(both(), alice_);
  EXPECT_EQ(nobody.json()["error"]["code"], "store_unavailable") << nobody.all();
  for (const Hub* const hub : {&a_, &b_}) {
    EXPECT_THAT(nobody.all(), HasSubstr(":" + std::to_string(hub->port)));
  }
  EXPECT_NE(here_.as("", {"logout"}).status, 0) << "nothing was kept";
}

TEST_F(Rotation, LoginNeedsOneThatKnowsTheToken) {
  stage::Stage elsewhere;
  const std::string carol = add_token(elsewhere, "carol");
  const HubServer other(elsewhere);
  const std::string all = a_.url() + "," + address_of(other.port());
  const Answer known = here_.login(all, carol);
  EXPECT_EQ(known.status, 0) << known.all();
  EXPECT_EQ(known.json()["name"], "carol");
  EXPECT_THAT(known.err, AllOf(HasSubstr(a_.url()), HasSubstr("token")));
  here_.expect(0, "x", {"acquire", "a"});
  EXPECT_EQ(elsewhere.list()["leases"].size(), 1U);
  const Answer unknown = here_.login(all, "nobody-knows-this-token");
  EXPECT_EQ(unknown.json()["error"]["code"], "operation_not_permitted") << unknown.all();
}

TEST_F(Rotation, AMistakeInAnAddressIsNamed) {
  const Answer wrong = here_.login(a_.url() + ",127.0.0.1:7420", alice_);
  EXPECT_EQ(wrong.json()["error"]["code"], "invalid_input");
  EXPECT_THAT(wrong.all(), HasSubstr("127.0.0.1:7420"));
  EXPECT_THAT(wrong.all(), Not(HasSubstr(a_.url())));
}

TEST_F(Rotation, WhoamiAndDoctorNameThemAll) {
  log_in(both());
  EXPECT_EQ(here_.expect(0, "x", {"whoami"}).json()["server"], both());
  const auto told = [&] { return here_.as("x", {"doctor"}); };
  const Answer good = told();
  EXPECT_THAT(good.all(), HasSubstr("one of " + a_.url() + ", " + b_.url() + " answers"));
  EXPECT_THAT(good.all(), Not(HasSubstr("cannot be reached")));
  b_.kill();
  const Answer noted = told();
  EXPECT_EQ(noted.status, 0) << noted.all();
  EXPECT_THAT(noted.all(), HasSubstr(std::to_string(b_.port) + " cannot be reached"));
  a_.kill();
  const Answer bad = told();
  EXPECT_NE(bad.status, 0);
  for (const Hub* const hub : {&a_, &b_}) {
    EXPECT_THAT(bad.all(), HasSubstr(std::to_string(hub->port) + " cannot be reached"));
  }
  EXPECT_EQ(error_code({"acquire", "a"}), "store_unavailable");
}

// It drains: it grants nothing new, and the other one does.
TEST_F(Rotation, AHubThatCannotBeUsedIsLeft) {
  log_in(both());
  here_.expect(0, "x", {"acquire", "a"});
  a_.drain(true);
  here_.expect(0, "x", {"acquire", "b"});
  EXPECT_EQ(a_.held(), 1U);
  EXPECT_EQ(b_.held(), 1U);
  b_.drain(true);
  const Answer refused = here_.json("x", {"acquire", "c"});
  EXPECT_EQ(refused.json()["error"]["code"], "store_unavailable");
  EXPECT_THAT(refused.all(), AllOf(HasSubstr(a_.url() + " says: the hub is draining"),
                                   HasSubstr(b_.url() + " says: the hub is draining")));
  a_.drain(false);
  here_.expect(0, "x", {"acquire", "c"});
  EXPECT_EQ(a_.held(), 2U);
}

// A hub with TLS, and a certificate that nobody else has signed.
struct Trusted {
  explicit Trusted(const std::string& tokens) {
    const auto run = [&](const Words& words) { return home.finish(home.command(words)); };
    made = run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
                "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"})
               .status == 0;
    if (!made) return;
    server = std::make_unique<HubServer>(
        home, Words{"--tls-cert", certificate, "--tls-key", key, "--token-file", tokens});
    const std::string out =
        run({"openssl", "x509", "-in", certificate, "-noout", "-fingerprint", "-sha256"}).out;
    fingerprint = out.substr(out.find('=') + 1);
    while (fingerprint.ends_with('\n')) fingerprint.pop_back();
  }
  std::string url() const { return "https://127.0.0.1:" + std::to_string(server->port()); }

  stage::Stage home;
  const std::string key = home.path("key.pem");
  const std::string certificate = home.path("cert.pem");
  bool made = false;
  std::unique_ptr<HubServer> server;
  std::string fingerprint;
};

TEST_F(Rotation, EachHubMayHaveACertificateOfItsOwn) {
  Trusted one(tokens_);
  Trusted two(tokens_);
  if (!one.made || !two.made) GTEST_SKIP() << "openssl is not installed";
  const std::string all = one.url() + "," + two.url();
  const Answer half = here_.login(all, alice_, {"--ca-file", one.certificate});
  EXPECT_EQ(half.status, 0) << half.all();
  EXPECT_THAT(half.err,
              AllOf(HasSubstr(std::to_string(two.server->port())), HasSubstr("is not trusted")));
  EXPECT_EQ(here_.login(all, alice_).json()["error"]["code"], "operation_not_permitted");
  const Words files = {"--ca-file", one.certificate, "--ca-file", two.certificate};
  const Words prints = {"--fingerprint", one.fingerprint, "--fingerprint", two.fingerprint};
  for (const Words& trust : {files, prints}) {
    const Answer good = here_.login(all, alice_, trust);
    EXPECT_EQ(good.status, 0) << good.all();
    EXPECT_EQ(good.err, "");
  }
  here_.expect(0, "x", {"acquire", "a"});
  end(*one.server);
  here_.expect(0, "x", {"acquire", "b"});
  EXPECT_EQ(two.home.list()["leases"].size(), 1U);
}

// One of the two is behind a proxy.
class RotationByProxy : public Rotation {
 protected:
  std::string proxied() const { return address_of(proxy_.port()); }
  Proxy proxy_{a_.port};
};

// Both sides of the connection think that it is there.
TEST_F(RotationByProxy, ASilentAddressIsLeftAndNotAskedAgain) {
  log_in(proxied() + "," + b_.url());
  here_.expect(0, "x", {"check", "z"});
  proxy_.swallow(true);
  here_.expect(0, "x", {"acquire", "a"});
  EXPECT_EQ(b_.held(), 1U);
  const std::size_t asked = proxy_.requests().size();
  here_.expect(0, "x", {"acquire", "b"});
  here_.expect(0, "x", {"run", "c", "--", "true"});
  EXPECT_EQ(proxy_.requests().size(), asked);
  EXPECT_EQ(b_.held(), 2U);
}

TEST_F(RotationByProxy, I8_I9_ALostAnswerIsAskedForElsewhere) {
  log_in(proxied() + "," + a_.url());  // two ways to one table
  here_.expect(0, "x", {"check", "z"});
  proxy_.vanish_with_answer();
  EXPECT_EQ(here_.expect(0, "x", {"acquire", "a"}).json()["outcome"], "granted");
  here_.expect(0, "x", {"release", "a"});
  EXPECT_EQ(a_.held(), 0U);
  int granted = 0;
  for (const Json& event : a_.home.expect(0, "", {"log"}).lines()) {
    granted += event["event"] == "granted" ? 1 : 0;
  }
  EXPECT_EQ(granted, 1);
}

// One of them has done it, perhaps, and what the other one says decides nothing.
TEST_F(RotationByProxy, I9_WhatOneHubMayHaveDoneIsUnknownIfNoOtherAnswers) {
  log_in(proxied() + "," + b_.url());
  here_.expect(0, "x", {"check", "z"});
  b_.drain(true);
  proxy_.vanish_with_answer();
  const Answer unknown = here_.json("x", {"acquire", "a"});
  EXPECT_EQ(unknown.json()["error"]["code"], "unknown") << unknown.all();
  EXPECT_THAT(std::string(unknown.json()["error"]["hint"]), HasSubstr("the hub may have done it"));
  EXPECT_EQ(a_.held(), 1U);
  EXPECT_EQ(error_code({"acquire", "b"}), "store_unavailable");
  b_.kill();
  EXPECT_EQ(error_code({"acquire", "b"}), "store_unavailable");
}

// Whoever lives here is known there before anything is asked for him.
TEST_F(RotationByProxy, I5_ABeatIsTheFirstThatAnotherHubHears) {
  log_in(b_.url() + "," + proxied());
  Process holder =
      here_.start("x", {"acquire", "a", "--attach", std::to_string(::getpid()), "--json"});
  ASSERT_EQ(holder.wait(), 0) << holder.err();
  const std::size_t before = proxy_.requests().size();
  b_.kill();
  here_.expect(0, "x", {"acquire", "b", "--attach", std::to_string(::getpid())});
  const std::vector<std::string> heard = proxy_.requests();
  ASSERT_GT(heard.size(), before + 1);
  EXPECT_EQ(heard[before], "/v1/beat");
  EXPECT_EQ(a_.held(), 1U);
}

// Two ways to one table, and one of them falls silent while somebody waits.
TEST_F(RotationByProxy, L6_AWaitAndItsEndFollow) {
  log_in(proxied() + "," + a_.url());
  HubPeer holder = a_.peer();
  const auto take = [&] {
    EXPECT_EQ(holder.post("/v1/acquire", {{"resources", {"a"}}}).status, 200);
  };
  const auto waiting = [&] { return a_.peer().get("/v1/list?realm=app").json["waiters"].size(); };
  const auto wait = [&] {
    Process process = here_.start("x", {"acquire", "a", "--wait=5m", "--json"});
    EXPECT_TRUE(stage::eventually([&] { return waiting() == 1; }));
    return process;
  };
  take();
  Process granted = wait();
  proxy_.swallow(true);
  EXPECT_EQ(holder.post("/v1/release", {{"resources", {"a"}}}).status, 200);
  EXPECT_EQ(granted.wait(), 0) << granted.err();
  here_.expect(0, "x", {"release", "a"});
  take();
  Process killed = wait();
  killed.signal(SIGKILL);
  EXPECT_TRUE(stage::eventually([&] { return waiting() == 0; }));
}

}  // namespace
}  // namespace lockkeeper::proof
