#include "realm/snapshot_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "realm/config.h"
#include "realm/settings_testing.h"

namespace lockkeeper::realm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using SnapshotSettings = SettingsFiles;

TEST_F(SnapshotSettings, WithoutAFileSnapshotsAreKeptForTwoWeeks) {
  const Settings settings = loaded();
  EXPECT_TRUE(settings.snapshots_enabled.value);
  EXPECT_EQ(settings.snapshots_keep_ms.value, 14 * kDayMs);
  EXPECT_EQ(settings.snapshots_bytes.value, 256 * kMiB);
  EXPECT_EQ(settings.snapshots_file_bytes.value, 4 * kMiB);
  EXPECT_FALSE(settings.snapshots_ignored.value);
}

TEST_F(SnapshotSettings, SecretsAreKnownInAnyCaseAndAsCopies) {
  const Settings settings = loaded();
  for (const char* secret : {".env",
                             ".ENV",
                             "prod.env",
                             "app/.env.local",
                             "x.PEM",
                             "ID_RSA",
                             "key.pem.orig",
                             "a.key.bak",
                             ".npmrc.bak",
                             ".env~",
                             ".aws/credentials",
                             "home/.aws/config",
                             "credentials.json",
                             "secrets.yaml",
                             "secrets.yml",
                             ".htpasswd",
                             ".docker/config.json",
                             "terraform.tfstate",
                             "terraform.tfstate.backup",
                             "service-account-1.json",
                             "kubeconfig",
                             ".ssh/config"}) {
    EXPECT_TRUE(snapshot_is_secret(settings, secret)) << secret;
  }
  for (const char* plain : {"src/a.c", "src/credentials.py", "secrets.py", "environment", "a.bak",
                            "config.json", "docker/config.json"}) {
    EXPECT_FALSE(snapshot_is_secret(settings, plain)) << plain;
  }
  shared("[snapshots]\nonly_hash = [\"Private/\"]\n");
  EXPECT_TRUE(snapshot_is_secret(loaded(), "private/x"));
  EXPECT_TRUE(snapshot_is_secret(loaded(), "Private/x"));
}

TEST_F(SnapshotSettings, EachCanBeSet) {
  shared(
      "[snapshots]\nenabled = false\nkeep = \"2d\"\nsize = \"1GiB\"\nfile = \"64KiB\"\n"
      "only_hash = [\"secrets/\"]\nignored = true\n");
  const Settings settings = loaded();
  EXPECT_FALSE(settings.snapshots_enabled.value);
  EXPECT_EQ(settings.snapshots_keep_ms.value, 2 * kDayMs);
  EXPECT_EQ(settings.snapshots_bytes.value, 1024 * kMiB);
  EXPECT_EQ(settings.snapshots_file_bytes.value, 64U << 10);
  EXPECT_THAT(settings.snapshots_only_hash.value, ElementsAre("secrets/"));
  EXPECT_TRUE(settings.snapshots_ignored.value);
  std::vector<std::string> rows;
  for (const SettingRow& row : settings_rows(settings)) {
    if (row.name.starts_with("snapshots.")) rows.push_back(row.name + " " + row.value);
  }
  EXPECT_THAT(rows, ElementsAre("snapshots.enabled false", "snapshots.keep \"2d\"",
                                "snapshots.size \"1GiB\"", "snapshots.file \"64KiB\"",
                                "snapshots.only_hash [\"secrets/\"]", "snapshots.ignored true"));
}

TEST_F(SnapshotSettings, MistakesNameTheValueAndWhatWasExpected) {
  struct Case {
    const char* line;
    const char* expected;
  };
  for (const Case& each :
       {Case{"size = \"10KiB\"", "1MiB"}, Case{"size = 7", "256MiB"},
        Case{"size = \"much\"", "256MiB"}, Case{"file = \"1GiB\"", "64MiB"},
        Case{"keep = \"10s\"", "1h"}, Case{"keep = \"none\"", "1h"},
        Case{"only_hash = [\"**\"]", "names such as"}, Case{"secrets = []", "only_hash"}}) {
    shared(std::string("[snapshots]\n") + each.line + "\n");
    const Error error = refused();
    EXPECT_EQ(error.code, Code::kInvalidConfig) << each.line;
    EXPECT_THAT(error.message + error.hint, HasSubstr(each.expected)) << each.line;
  }
}

TEST_F(SnapshotSettings, FilesThatUsuallyHaveKeysAreKeptByTheirHash) {
  const Settings settings = loaded();
  for (const char* path : {".env", "app/.env.local", "tls/server.key", "a/cert.pem", "id_rsa",
                           "home/id_ed25519.pub", ".npmrc"}) {
    EXPECT_TRUE(snapshot_is_secret(settings, path)) << path;
  }
  for (const char* path : {"src/a.c", "env.ts", "keys.md", "src/pem.c", "x.keys"}) {
    EXPECT_FALSE(snapshot_is_secret(settings, path)) << path;
  }
}

TEST(Bytes, AreReadAndWritten) {
  EXPECT_EQ(parse_bytes("512").value_or(0), 512U);
  EXPECT_EQ(parse_bytes("4 KiB").value_or(0), 4096U);
  EXPECT_EQ(parse_bytes("1gib").value_or(0), 1024 * kMiB);
  for (const char* text : {"", "MiB", "1.5MiB", "-1", "1TiB", "99999999999GiB"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
  EXPECT_EQ(format_bytes(0), "0");
  EXPECT_EQ(format_bytes(1000), "1000");
  EXPECT_EQ(format_bytes(4 * kMiB), "4MiB");
}

}  // namespace
}  // namespace lockkeeper::realm
