#include "service/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "key/resource.h"
#include "realm/test_repository.h"

namespace lockkeeper::service {
namespace {

using testing::ElementsAre;

core::Lease lease_on(const std::vector<std::string>& names, const std::vector<std::string>& globs) {
  core::Lease lease;
  for (const std::string& text : globs) {
    lease.claims.push_back({key::parse(text, {})->resource, core::Mode::kExclusive, 0});
  }
  for (const std::string& text : names) {
    lease.claims.push_back(
        {key::parse(text, {}, key::Syntax::kLiteral)->resource, core::Mode::kExclusive, 0});
  }
  return lease;
}

TEST(Names, AWordWithBracketsIsShownAsItWasWritten) {
  const core::Lease lease = lease_on({"app/[slug]/page.tsx"}, {"app/[slug]/page.tsx"});
  ASSERT_EQ(lease.claims.front().resource.text(), "app/[glsu]/page.tsx");
  EXPECT_THAT(spelled_texts(lease), ElementsAre("app/[slug]/page.tsx"));
  ASSERT_EQ(spelled_claims(lease).size(), 1U);
  EXPECT_EQ(spelled_in(lease, "app/[glsu]/page.tsx"), "app/[slug]/page.tsx");
}

TEST(Names, ALeaseOnThousandsOfSuchWordsIsShownAtOnce) {
  std::vector<std::string> texts, names;
  for (int i = 0; i < 5000; ++i) {
    names.push_back("app/[slug]/" + std::to_string(i));
    texts.push_back("app/[glsu]/" + std::to_string(i));
    texts.push_back(names.back());
  }
  EXPECT_EQ(spelled(texts), names);
}

TEST(Names, APatternWithoutTheFileOfItsNameStays) {
  EXPECT_THAT(spelled({"app/[glsu]/page.tsx", "b/[x]"}),
              ElementsAre("app/[glsu]/page.tsx", "b/[x]"));
  EXPECT_THAT(spelled({"src/*.py", "src/a.py"}), ElementsAre("src/*.py", "src/a.py"));
  // [q] matches one name, and that file is held as well.
  EXPECT_THAT(spelled({"a/[q]", "a/q"}), ElementsAre("a/[q]", "a/q"));
}

TEST(Names, WhatLiesInAnotherRealmIsNamedFromWhereOneIs) {
  realm::TestRepository files;
  files.init("outer");
  files.init("outer/inner");
  files.folder("outer/src");
  const realm::Environment env = files.env();
  const auto inner = realm::realm_of(files.at("outer/inner"), env);
  ASSERT_TRUE(inner) << inner.error().message;
  Names names = names_from(files.at("outer/src"), *inner, env);
  EXPECT_EQ(names.name("f"), "inner/f");
  EXPECT_EQ(names.name("./"), "inner/");
  EXPECT_EQ(names.name("db:users"), "db:users");
  EXPECT_EQ(names.word("f"), files.at("outer/inner/f"));
  names.set_typed({{"f", "../inner/f"}});
  EXPECT_EQ(names.word("f"), "../inner/f");
  EXPECT_EQ(names_from(files.at("outer/inner"), *inner, env).name("f"), "f");
  EXPECT_EQ(names_from("/", *inner, env).word("f"), files.at("outer/inner/f"));
}

}  // namespace
}  // namespace lockkeeper::service
