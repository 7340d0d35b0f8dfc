// How the store reaches etcd: versions, TLS, users, members that fail.
#include <gtest/gtest.h>

#include <fstream>

#include "base/test_folder.h"
#include "etcd/cluster.h"

namespace lockkeeper::etcd_testing {
namespace {

using kv::Access;
using kv::EtcdOptions;
using kv::EtcdStore;

Error refused(const std::string& url) {
  EtcdOptions options;
  auto address = kv::etcd::parse_address(url);
  EXPECT_TRUE(address.has_value()) << address.error().message;
  options.address = *address;
  options.patience.all = std::chrono::milliseconds(5000);
  const auto store = EtcdStore::open(std::move(options));
  EXPECT_FALSE(store.has_value()) << "it was opened: " << url;
  return store ? Error{} : store.error();
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void put(kv::Store& store, const std::string& key, const std::string& value) {
  while (true) {
    auto txn = store.begin(Access::kWrite);
    ASSERT_TRUE(txn.has_value()) << txn.error().message;
    ASSERT_TRUE((*txn)->put(key, value, kv::kUntilErased));
    const auto done = (*txn)->commit();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    if (done->fate == kv::Fate::kCommitted) return;
  }
}

bool is_passing(const Error& error) {
  return error.code == Code::kUnknown || error.code == Code::kStoreUnavailable;
}

// As callers do while members come and go: whoever was not answered asks again.
void put_at_last(kv::Store& store, const std::string& key, const std::string& value) {
  while (true) {
    auto txn = store.begin(Access::kWrite);
    if (txn) {
      ASSERT_TRUE((*txn)->put(key, value, kv::kUntilErased));
    }
    const auto done = txn ? (*txn)->commit() : fail(txn.error());
    if (done && done->fate == kv::Fate::kCommitted) return;
    ASSERT_TRUE(done || is_passing(done.error())) << done.error().message;
  }
}

Result<std::string> get(kv::Store& store, const std::string& key) {
  LK_ASSIGN(const auto txn, store.begin(Access::kRead));
  LK_ASSIGN(const auto row, txn->get(key, kv::Read::kPeek));
  return row ? std::string(row->value) : std::string("none");
}

std::string get_at_last(kv::Store& store, const std::string& key) {
  while (true) {
    const Result<std::string> value = get(store, key);
    if (value) return *value;
    if (!is_passing(value.error())) return value.error().message;
  }
}

class EtcdConnect : public testing::Test {
 protected:
  void SetUp() override {
    if (!programs()) GTEST_SKIP() << why_not();
  }
};

TEST_F(EtcdConnect, NobodyThereIsSaidWithTheEndpoint) {
  const Error error = refused("etcd://127.0.0.1:1");
  EXPECT_EQ(error.code, Code::kStoreUnavailable);
  EXPECT_TRUE(has(error.message, "127.0.0.1:1")) << error.message;
  EXPECT_FALSE(error.hint.empty());
}

TEST_F(EtcdConnect, TheEtcdOfDebian12IsTooOldAndTheReasonIsSaid) {
  if (!old_programs()) GTEST_SKIP() << "there is no old etcd in build/etcd-old";
  Cluster old({.old = true});
  Error error = refused(old.url());
  while (has(error.message, "cannot be reached") || has(error.message, "no leader") ||
         has(error.message, "broke")) {
    error = refused(old.url());
  }
  EXPECT_EQ(error.code, Code::kStoreUnavailable);
  EXPECT_TRUE(has(error.message, "3.4.23")) << error.message;
  EXPECT_TRUE(has(error.message, "too old")) << error.message;
  EXPECT_TRUE(has(error.hint, "3.5.28")) << error.hint;
  const auto store = open_store(old.url("?allow-old=yes"));
  put(*store, "a", "1");
  EXPECT_EQ(get(*store, "a").value_or("?"), "1");
}

TEST_F(EtcdConnect, TlsWantsTheRightAuthorityNameAndCertificate) {
  Cluster cluster({.tls = true});
  const auto store = open_store(cluster.url());
  put(*store, "a", "1");
  EXPECT_EQ(get(*store, "a").value_or("?"), "1");

  const std::string hosts = "etcds://" + cluster.endpoint(0);
  const std::string own =
      "&cert=" + cluster.file("client.pem") + "&key=" + cluster.file("client.key");
  const Error other = refused(hosts + "?ca=" + cluster.file("other.pem") + own);
  EXPECT_TRUE(has(other.message, "certificate") && has(other.message, cluster.endpoint(0)))
      << other.message;
  EXPECT_TRUE(has(other.hint, "ca=FILE")) << other.hint;
  const Error system =
      refused(hosts + "?cert=" + cluster.file("client.pem") + "&key=" + cluster.file("client.key"));
  EXPECT_TRUE(has(system.message, "certificate")) << system.message;
  // Its certificate is for 127.0.0.1.
  const std::string port = cluster.endpoint(0).substr(cluster.endpoint(0).find(':'));
  const Error name = refused("etcds://localhost" + port + "?ca=" + cluster.file("ca.pem") + own);
  EXPECT_TRUE(has(name.message, "certificate") && has(name.message, "localhost")) << name.message;
  const Error nobody = refused(hosts + "?ca=" + cluster.file("ca.pem"));
  EXPECT_EQ(nobody.code, Code::kStoreUnavailable);
  EXPECT_TRUE(has(nobody.message, cluster.endpoint(0))) << nobody.message;
  const Error plain = refused("etcd://" + cluster.endpoint(0));
  EXPECT_EQ(plain.code, Code::kStoreUnavailable);
  const Error key = refused(hosts + "?ca=" + cluster.file("ca.pem") +
                            "&cert=" + cluster.file("client.pem") + "&key=/nowhere");
  EXPECT_EQ(key.code, Code::kInvalidInput);
  EXPECT_TRUE(has(key.message, "/nowhere")) << key.message;
}

TEST_F(EtcdConnect, AUserHasItsPrefixAndNoSecretIsSaid) {
  Cluster cluster;
  TestFolder folder;
  const auto secret = [&](const std::string& name, const std::string& password) {
    std::ofstream(folder.file(name)) << password << "\n";
    std::filesystem::permissions(folder.file(name), std::filesystem::perms::owner_read);
    return folder.file(name);
  };
  cluster.enable_users();

  const std::string good = "user=hub&password-file=" + secret("good", "Geheim1");
  // With users this etcd's floor is 3.5.33.
  const Error old = refused(cluster.url("/team?" + good));
  EXPECT_TRUE(has(old.hint, "3.5.33")) << old.message << old.hint;
  const auto store = open_store(cluster.url("/team?allow-old=yes&" + good));
  put(*store, "a", "1");
  EXPECT_EQ(get(*store, "a").value_or("?"), "1");

  const Error wrong = refused(
      cluster.url("/team?allow-old=yes&user=hub&password-file=" + secret("bad", "Falsch1")));
  EXPECT_TRUE(has(wrong.message, "does not accept the password")) << wrong.message;
  EXPECT_FALSE(has(wrong.message + wrong.hint, "Falsch1"));
  const Error elsewhere = refused(cluster.url("/other?allow-old=yes&" + good));
  EXPECT_TRUE(has(elsewhere.hint, "grant-permission")) << elsewhere.message;
  const Error nobody = refused(cluster.url("/team"));
  EXPECT_TRUE(has(nobody.hint, "user=NAME")) << nobody.message;

  // Tokens are forgotten when the server starts again: they are renewed, and nothing is lost.
  cluster.kill(0);
  cluster.start(0);
  Result<std::string> again = get(*store, "a");
  while (!again) again = get(*store, "a");
  EXPECT_EQ(*again, "1");
  put(*store, "a", "2");
  EXPECT_EQ(get(*store, "a").value_or("?"), "2");
}

TEST_F(EtcdConnect, APasswordThatOthersCanReadIsRefused) {
  TestFolder folder;
  std::ofstream(folder.file("open")) << "Geheim1\n";
  std::filesystem::permissions(folder.file("open"), std::filesystem::perms(0644));
  const Error error =
      refused(shared_cluster().url("?allow-old=yes&user=hub&password-file=" + folder.file("open")));
  EXPECT_EQ(error.code, Code::kInvalidInput);
  EXPECT_TRUE(has(error.hint, "chmod 600")) << error.hint;
}

TEST_F(EtcdConnect, F25_F26_TheStoreOutlivesEachOfThreeMembersAndALostQuorum) {
  Cluster cluster({.members = 3});
  const auto store = open_store(cluster.url());
  put(*store, "a", "0");
  // Killed, stopped, and started again, the leader first.
  std::size_t leader = cluster.leader();
  cluster.kill(leader);
  put_at_last(*store, "a", "killed");
  EXPECT_EQ(get_at_last(*store, "a"), "killed");
  cluster.start(leader);
  leader = cluster.leader();
  cluster.stop(leader);
  put_at_last(*store, "a", "stopped");
  EXPECT_EQ(get_at_last(*store, "a"), "stopped");
  cluster.go_on(leader);
  cluster.wait_until_it_serves();

  // Two of three are gone: nothing is answered, and nothing is claimed.
  cluster.kill(0);
  cluster.kill(1);
  const auto read = get(*store, "a");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Code::kStoreUnavailable);
  auto txn = store->begin(Access::kWrite);
  ASSERT_TRUE(txn.has_value());
  ASSERT_TRUE((*txn)->put("b", "lost", kv::kUntilErased));
  const auto done = (*txn)->commit();
  ASSERT_FALSE(done.has_value());
  EXPECT_TRUE(is_passing(done.error())) << done.error().message;
  cluster.start(0);
  cluster.start(1);
  cluster.wait_until_it_serves();
  put_at_last(*store, "a", "healed");
  EXPECT_EQ(get_at_last(*store, "a"), "healed");
}

}  // namespace
}  // namespace lockkeeper::etcd_testing
