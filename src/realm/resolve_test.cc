#include "realm/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "realm/test_repository.h"

namespace lockkeeper::realm {
namespace {

using key::Kind;
using key::Syntax;

class Resolve : public ::testing::Test {
 protected:
  void SetUp() override {
    repo.init("r");
    repo.write("r/src/a.py", "");
    repo.write("r/docs/x.md", "");
  }

  Resolver resolver(Base base = {}, ResolveOptions options = {}, key::Rules rules = {},
                    const std::string& in = "r") const {
    const auto realm = find_realm({repo.at(in), {}, {}, {}, repo.env()});
    EXPECT_TRUE(realm.has_value());
    return Resolver(realm.value_or(Realm{}), std::move(rules), std::move(base), repo.env(),
                    options);
  }

  Base cwd(const std::string& folder) const { return {Base::kCwd, repo.at(folder)}; }

  // The canonical text, or the code and message of the refusal.
  static std::string text(Resolver from, const std::string& typed, Syntax syntax = Syntax::kAuto) {
    const auto parsed = from.resolve(typed, syntax);
    if (parsed) return parsed->resource.text();
    return std::string(code_name(parsed.error().code)) + ": " + parsed.error().message;
  }

  static Error refusal(Resolver from, const std::string& typed, Syntax syntax = Syntax::kAuto) {
    const auto parsed = from.resolve(typed, syntax);
    EXPECT_FALSE(parsed.has_value())
        << typed << " gave " << (parsed ? parsed->resource.text() : "");
    return parsed ? Error{} : parsed.error();
  }

  TestRepository repo;
};

TEST_F(Resolve, one_identity_whatever_the_spelling) {
  for (const std::string& spelling :
       {std::string("src/a.py"), std::string("./src//a.py"), std::string("src/./a.py"),
        std::string("docs/../src/a.py"), repo.at("r/src/a.py"), repo.at("r//src/a.py"),
        repo.at("r/docs/../src/a.py"), std::string("missing/../src/a.py")}) {
    EXPECT_EQ(text(resolver(), spelling), "src/a.py") << spelling;
  }
}

TEST_F(Resolve, arguments_are_relative_to_the_current_folder_files_to_the_root) {
  EXPECT_EQ(text(resolver(cwd("r/src")), "a.py"), "src/a.py");
  EXPECT_EQ(text(resolver(cwd("r/src")), "../docs/x.md"), "docs/x.md");
  EXPECT_EQ(text(resolver(cwd("r/src")), "."), "src/");
  EXPECT_EQ(text(resolver(cwd("r/src")), ".."), "./");
  EXPECT_EQ(text(resolver(), "a.py"), "a.py");
  repo.link(repo.at("r/src"), "short");
  EXPECT_EQ(text(resolver(cwd("short")), "a.py"), "src/a.py");
  EXPECT_EQ(text(resolver(cwd("short")), "../docs/x.md"), "docs/x.md");  // as the kernel would
  repo.folder("away");
  Base named = cwd("away");
  named.realm_named = true;
  EXPECT_EQ(text(resolver(named), "src/a.py"), "src/a.py");  // --realm from elsewhere
  EXPECT_THAT(refusal(resolver(named), "../x").message,
              testing::HasSubstr(repo.at("r") + ", where relative paths begin"));
  EXPECT_THAT(refusal(resolver(), "../x").message, testing::EndsWith("root " + repo.at("r")));
  EXPECT_EQ(text(resolver(cwd("away")), "../r/src/a.py"), "src/a.py");  // found from the path
  EXPECT_EQ(refusal(resolver(cwd("gone")), "a").code, Code::kInvalidInput);
}

TEST_F(Resolve, a_directory_is_a_folder_and_a_file_is_not) {
  EXPECT_EQ(text(resolver(), "src"), "src/");
  EXPECT_EQ(text(resolver(), "src/"), "src/");
  EXPECT_EQ(text(resolver(), "."), "./");
  EXPECT_EQ(text(resolver(), repo.at("r")), "./");
  EXPECT_EQ(text(resolver(), repo.at("r/")), "./");
  EXPECT_EQ(text(resolver(), "new"), "new");
  EXPECT_EQ(text(resolver(), "new/"), "new/");
  EXPECT_EQ(text(resolver(), "new/deep/f.py"), "new/deep/f.py");
  EXPECT_EQ(text(resolver(), "src/a.py/below"), "src/a.py/below");
  const Error refused = refusal(resolver(), "src/a.py/");
  EXPECT_EQ(refused.code, Code::kInvalidResource);
  EXPECT_EQ(refused.hint, "write \"src/a.py\"");
}

TEST_F(Resolve, symlinks_of_the_existing_part_are_resolved) {
  repo.link("src", "r/lib");
  repo.link("a.py", "r/src/alias.py");
  repo.link(repo.at("r/src"), "r/absolute");
  repo.link("../src/../docs", "r/docs/up");
  repo.link("future/file", "r/dangling");
  EXPECT_EQ(text(resolver(), "lib/a.py"), "src/a.py");
  EXPECT_EQ(text(resolver(), "lib"), "src/");
  EXPECT_EQ(text(resolver(), "lib/new.py"), "src/new.py");
  EXPECT_EQ(text(resolver(), "src/alias.py"), "src/a.py");  // the last name too
  EXPECT_EQ(text(resolver(), "absolute/a.py"), "src/a.py");
  EXPECT_EQ(text(resolver(), "docs/up/x.md"), "docs/x.md");
  EXPECT_EQ(text(resolver(), "dangling"), "future/file");
  EXPECT_EQ(text(resolver(), "lib/*.py"), "src/*.py");
  repo.folder("r/deep/er");
  repo.link("deep/er", "r/jump");
  EXPECT_EQ(text(resolver(), "jump/../x"), "deep/x");  // not "x": the kernel goes up from there
  // The root itself may be spelled through a symlink.
  repo.link(repo.at("r"), "alias");
  EXPECT_EQ(text(resolver(), repo.at("alias/src/a.py")), "src/a.py");
}

TEST_F(Resolve, B10_a_slash_that_means_the_realms_root_gets_the_path_that_works) {
  const Error refused = refusal(resolver(), "/no-such-folder/a.py");
  EXPECT_EQ(refused.code, Code::kInvalidResource);
  EXPECT_EQ(refused.hint, "paths that begin with / are the machine's; in this realm it is " +
                              repo.at("r") + "/no-such-folder/a.py");
  EXPECT_EQ(text(resolver(), repo.at("r") + "/no-such-folder/a.py"), "no-such-folder/a.py");
}

TEST_F(Resolve, outside_the_root_is_refused_naming_root_and_next_step) {
  repo.folder("away");
  repo.write("away/f", "");
  for (const std::string& typed : {std::string("../away/f"), repo.at("away/f"),
                                   std::string("../../../../../../../.."), repo.at("rr/x")}) {
    const Error refused = refusal(resolver(), typed);
    EXPECT_EQ(refused.code, Code::kInvalidResource) << typed << refused.message;
    EXPECT_NE(refused.message.find(repo.at("r")), std::string::npos) << refused.message;
    EXPECT_NE(refused.hint.find("--realm"), std::string::npos) << refused.hint;
  }
  repo.link(repo.at("away"), "r/out");
  const Error led_out = refusal(resolver(), "out/f");
  EXPECT_EQ(led_out.code, Code::kInvalidResource);
  EXPECT_NE(led_out.message.find("the symlink " + quote(repo.at("r/out"))), std::string::npos)
      << led_out.message;
  // F29: what was typed is never repeated raw.
  EXPECT_EQ(refusal(resolver(), "out/\x01").message.find('\x01'), std::string::npos);
}

TEST_F(Resolve, as_many_symlinks_are_followed_as_the_kernel_follows) {
  repo.link("src/a.py", "r/l1");
  for (int i = 2; i <= 41; ++i) {
    repo.link("l" + std::to_string(i - 1), "r/l" + std::to_string(i));
  }
  struct stat info{};
  ASSERT_EQ(::stat(repo.at("r/l40").c_str(), &info), 0);
  EXPECT_EQ(text(resolver(), "l40"), "src/a.py");
  ASSERT_NE(::stat(repo.at("r/l41").c_str(), &info), 0);
  EXPECT_EQ(refusal(resolver(), "l41").code, Code::kInvalidResource);
}

TEST_F(Resolve, symlink_loops_are_refused) {
  repo.link("loop", "r/loop");
  repo.link("pong", "r/ping");
  repo.link("ping", "r/pong");
  for (const char* typed : {"loop", "loop/x", "ping", "pong/*.py"}) {
    const Error refused = refusal(resolver(), typed);
    EXPECT_EQ(refused.code, Code::kInvalidResource) << typed;
    EXPECT_NE(refused.message.find("loop;"), std::string::npos) << refused.message;
  }
}

TEST_F(Resolve, a_file_has_one_name_in_every_worktree) {
  repo.git("r", "add .");
  repo.git("r", "commit -m files");
  repo.git("r", "worktree add ../beside -b one");
  repo.git("r", "worktree add .claude/worktrees/feat -b two");
  const auto from = [&](const std::string& in, const std::string& typed) {
    return text(resolver({}, {}, {}, in), typed);
  };
  EXPECT_EQ(from("r", repo.at("beside/src/a.py")), "src/a.py");
  EXPECT_EQ(from("r", ".claude/worktrees/feat/src/a.py"), "src/a.py");
  EXPECT_EQ(from("r", ".claude/worktrees/feat/src/*.py"), "src/*.py");
  EXPECT_EQ(from("beside", repo.at("r/src/a.py")), "src/a.py");
  EXPECT_EQ(from(".claude/..//r/.claude/worktrees/feat", "src/a.py"), "src/a.py");
  EXPECT_EQ(from("r", ".claude/worktrees"), ".claude/worktrees/");
  EXPECT_EQ(from("beside", "../r/.git/index"), ".git/index");
  // A current folder in another worktree of the realm counts as inside.
  EXPECT_EQ(text(resolver(cwd("beside/src")), "a.py"), "src/a.py");
}

TEST_F(Resolve, a_path_of_a_nested_repository_is_refused_naming_the_realm) {
  repo.init("r/vendor/lib");
  for (const char* typed : {"vendor/lib/x.c", "vendor/lib", "vendor/lib/*.c", "vendor/lib/new/x"}) {
    const Error refused = refusal(resolver(), typed);
    EXPECT_EQ(refused.code, Code::kInvalidInput) << typed << refused.message;
    EXPECT_NE(refused.hint.find("--realm " + repo.at("r/vendor/lib")), std::string::npos)
        << refused.hint;
  }
  EXPECT_EQ(text(resolver(), "vendor"), "vendor/");
  EXPECT_EQ(text(resolver(), "vendor/library"), "vendor/library");
  repo.write("r/broken/.git", "garbage");
  EXPECT_EQ(refusal(resolver(), "broken/x").code, Code::kStoreUnavailable);
}

TEST_F(Resolve, a_nested_plain_realm_is_its_own) {
  repo.folder("plain/.lockkeeper");
  repo.folder("plain/sub/.lockkeeper");
  EXPECT_EQ(text(resolver({}, {}, {}, "plain"), "f"), "f");
  EXPECT_EQ(refusal(resolver({}, {}, {}, "plain"), "sub/f").code, Code::kInvalidInput);
  EXPECT_EQ(text(resolver({}, {}, {}, "plain/sub"), "f"), "f");
}

TEST_F(Resolve, A3_the_text_alone_decides_what_is_a_pattern) {
  const auto all = [&](const char* typed, Syntax syntax = Syntax::kAuto) {
    std::vector<std::string> texts;
    const auto found = resolver().resolve_all(typed, syntax);
    for (const key::Parsed& one : *found) texts.push_back(one.resource.text());
    return texts;
  };
  using Texts = std::vector<std::string>;
  for (const bool exists : {false, true}) {
    if (exists) repo.write("r/app/[slug]/page.tsx", "");
    EXPECT_EQ(all("app/[slug]/page.tsx"), (Texts{"app/[glsu]/page.tsx", "app/[slug]/page.tsx"}));
    EXPECT_EQ(all("app/[slug]/*.tsx"), (Texts{"app/[glsu]/*.tsx", "app/[slug]/*.tsx"})) << exists;
    EXPECT_EQ(all("app/[slug]/page.tsx", Syntax::kGlob), (Texts{"app/[glsu]/page.tsx"}));
    EXPECT_EQ(all("app/[slug]/page.tsx", Syntax::kLiteral), (Texts{"app/[slug]/page.tsx"}));
    EXPECT_EQ(all("src/*.py"), (Texts{"src/*.py"})) << "it matches its own name";
    EXPECT_EQ(all("app/[q]/page.tsx"), (Texts{"app/q/page.tsx", "app/[q]/page.tsx"}));
    EXPECT_EQ(all("notes\\[1\\].md"), (Texts{"notes[1].md"})) << "escaped, it is one name";
  }
  EXPECT_EQ(text(resolver(), "src", Syntax::kGlob), "src/");
}

TEST_F(Resolve, escapes_lead_to_the_same_name) {
  repo.write("r/app/[slug]/page.tsx", "");
  repo.link("[slug]", "r/app/here");
  EXPECT_EQ(text(resolver(), "app/\\[slug\\]/page.tsx"), "app/[slug]/page.tsx");
  EXPECT_EQ(text(resolver(), "app/\\[slug\\]"), "app/[slug]/");
  EXPECT_EQ(text(resolver(cwd("r/app")), "\\[slug\\]/page.tsx"), "app/[slug]/page.tsx");
  EXPECT_EQ(text(resolver(), "app/here/page.tsx"), "app/[slug]/page.tsx");
  repo.write("r/app/\\[slug\\]", "");  // an escape stays one, whatever lies about
  EXPECT_EQ(text(resolver(), "app/\\[slug\\]"), "app/[slug]/");
}

TEST_F(Resolve, a_glob_keeps_its_pattern_and_may_match_nothing) {
  EXPECT_EQ(text(resolver(cwd("r/src")), "*.py"), "src/*.py");
  EXPECT_EQ(text(resolver(cwd("r/src")), "../**/*.md"), "**/*.md");
  EXPECT_EQ(text(resolver(), "no/such/**/thing-?.c"), "no/such/**/thing-?.c");
  EXPECT_EQ(text(resolver(), repo.at("r/src/*.py")), "src/*.py");
  EXPECT_EQ(refusal(resolver(), "src/*/../x").code, Code::kInvalidResource);
  EXPECT_EQ(refusal(resolver(), "../*").code, Code::kInvalidResource);
}

TEST_F(Resolve, logical_keys_never_touch_the_disk) {
  EXPECT_EQ(text(resolver(cwd("r/src")), "flag:new-ui"), "flag:new-ui");
  EXPECT_EQ(refusal(resolver(), "nonsense:x").code, Code::kOperationNotPermitted);
  EXPECT_EQ(text(resolver(), "./notes:today.md"), "./notes:today.md");
  EXPECT_EQ(text(resolver(), "notes:today.md", Syntax::kLiteral), "./notes:today.md");
  EXPECT_EQ(text(resolver(cwd("r/src")), "./db:x"), "src/db:x");
  EXPECT_EQ(refusal(resolver(), "C:/x").code, Code::kInvalidResource);
}

TEST_F(Resolve, a_backslash_is_refused_natively_and_converted_for_dialects) {
  const Error refused = refusal(resolver(), "src\\a.py");
  EXPECT_EQ(refused.code, Code::kInvalidResource);
  EXPECT_EQ(refused.message, "'src\\a.py': a path is written with '/', not '\\'; write 'src/a.py'");
  EXPECT_EQ(refused.hint, "use 'src/a.py'");
  EXPECT_EQ(refusal(resolver(), "src\\*.py", Syntax::kLiteral).code, Code::kInvalidResource);
  EXPECT_EQ(text(resolver({}, {.convert_backslash = true}), "src\\a.py"), "src/a.py");
}

TEST_F(Resolve, bad_names_have_clear_errors) {
  EXPECT_EQ(refusal(resolver(), "").code, Code::kInvalidResource);
  EXPECT_EQ(refusal(resolver(), std::string(65536, 'a')).code, Code::kLimitExceeded);
  EXPECT_EQ(refusal(resolver(), std::string(300, 'a')).code, Code::kLimitExceeded);
  std::string deep;
  while (deep.size() < 10'000) deep += "folder/";
  EXPECT_EQ(refusal(resolver(), deep).code, Code::kLimitExceeded);
  for (const std::string& bad :
       {std::string("a\0b", 3), std::string("bad\xff"), std::string("a\nb"), std::string("blank "),
        std::string("\xc0\xaf")}) {
    const Error refused = refusal(resolver(), bad);
    EXPECT_EQ(refused.code, Code::kInvalidResource) << refused.message;
    EXPECT_TRUE(is_valid_utf8(refused.message));
    EXPECT_FALSE(refused.hint.empty()) << refused.message;
  }
}

TEST_F(Resolve, both_unicode_forms_are_one_resource) {
  const std::string composed = "caf\xc3\xa9";
  const std::string decomposed = "cafe\xcc\x81";
  EXPECT_EQ(text(resolver(), composed + ".md"), text(resolver(), decomposed + ".md"));
  // The disk has one form, the other is typed: still seen as a folder, and symlinks are followed.
  repo.write("r/" + decomposed + "/x", "");
  EXPECT_EQ(text(resolver(), composed), composed + "/");
  EXPECT_EQ(text(resolver(), decomposed), composed + "/");
  repo.link("src", "r/na\xc3\xafve");
  EXPECT_EQ(text(resolver(), "nai\xcc\x88ve/a.py"), "src/a.py");
}

TEST_F(Resolve, ignorecase_folds_the_case) {
  key::Rules rules;
  rules.fold_case = true;
  EXPECT_EQ(text(resolver({}, {}, rules), "Src/New.PY"),
            text(resolver({}, {}, rules), "src/new.py"));
}

TEST_F(Resolve, the_store_cannot_be_locked_but_the_rest_of_git_can) {
  repo.folder("r/.git/lockkeeper");
  for (const char* typed : {".git/lockkeeper", ".git/lockkeeper/data.mdb", ".git/lockkeeper/*"}) {
    EXPECT_EQ(refusal(resolver(), typed).code, Code::kInvalidResource) << typed;
  }
  EXPECT_EQ(text(resolver(), ".git/index"), ".git/index");
  EXPECT_EQ(text(resolver(), ".git/lockkeeper.txt"), ".git/lockkeeper.txt");
}

TEST_F(Resolve, nothing_is_created) {
  text(resolver(), "new/deep/f.py");
  EXPECT_FALSE(std::filesystem::exists(repo.at("r/new")));
  EXPECT_FALSE(std::filesystem::exists(repo.at("r/.git/lockkeeper")));
}

TEST_F(Resolve, a_folder_that_cannot_be_entered_is_no_identity) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody who may not look";
  ASSERT_EQ(::chmod(repo.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(repo.at("r/src").c_str(), 0700), 0);
  EXPECT_TRUE(as_nobody([&] {
    auto from = resolver();
    const auto parsed = from.resolve("src/a.py");
    return !parsed && parsed.error().code == Code::kFailed;
  }));
}

}  // namespace
}  // namespace lockkeeper::realm
