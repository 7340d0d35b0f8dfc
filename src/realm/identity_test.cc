#include "realm/identity.h"

#include <gtest/gtest.h>

#include <map>

#include "realm/test_repository.h"

namespace lockkeeper::realm {
namespace {

using Derived = Result<std::optional<std::string>>;
using Variables = std::map<std::string, std::string>;

IdentityRequest request(Variables variables) {
  IdentityRequest result;
  result.env = environment_of(std::move(variables));
  result.terminal_session = [] { return Derived(std::string("0123456789abcdef")); };
  result.client_process = [] { return Derived(std::string("fedcba9876543210")); };
  return result;
}

Identity found(const IdentityRequest& asked) {
  const auto identity = find_identity(asked);
  EXPECT_TRUE(identity.has_value()) << (identity ? "" : identity.error().message);
  return identity.value_or(Identity{});
}

TEST(Identity, flags_come_before_variables_before_the_coding_agent_before_the_user) {
  Variables all = {{"LOCKKEEPER_AGENT", "var"},
                   {"LOCKKEEPER_SESSION", "vs"},
                   {"CLAUDECODE", "1"},
                   {"CLAUDE_CODE_SESSION_ID", "cs"},
                   {"USER", "u"}};
  IdentityRequest asked = request(all);
  asked.agent = "flag";
  asked.session = "fs";
  EXPECT_EQ(found(asked).agent, "flag");
  EXPECT_EQ(found(asked).session, "fs");
  EXPECT_EQ(found(request(all)).agent, "var");
  EXPECT_EQ(found(request(all)).session, "vs");
  all.erase("LOCKKEEPER_AGENT");
  EXPECT_EQ(found(request(all)).agent, "claude-code");
  EXPECT_EQ(found(request(all)).session, "vs");
  all.erase("LOCKKEEPER_SESSION");
  EXPECT_EQ(found(request(all)).session, "cs");
  EXPECT_EQ(found(request({{"USER", "u"}})).agent, "u");
}

TEST(Identity, an_agent_named_without_a_session_has_none) {
  IdentityRequest asked = request({{"CLAUDE_CODE_SESSION_ID", "cs"}, {"USER", "u"}});
  asked.agent = "backend";
  EXPECT_EQ(found(asked).session, "");
  EXPECT_FALSE(found(asked).session_derived);
  EXPECT_EQ(found(request({{"LOCKKEEPER_AGENT", "backend"}})).session, "");
}

TEST(Identity, each_coding_agent_is_known_by_its_environment) {
  const auto owner = [](Variables variables) {
    const Identity identity = found(request(std::move(variables)));
    return identity.agent + "|" + identity.session;
  };
  EXPECT_EQ(owner({{"CLAUDECODE", "1"}, {"CLAUDE_CODE_SESSION_ID", "a"}}), "claude-code|a");
  EXPECT_EQ(owner({{"CLAUDECODE", "1"}}), "claude-code|proc-fedcba9876543210");
  EXPECT_EQ(owner({{"COPILOT_AGENT_SESSION_ID", "b"}}), "copilot|b");
  EXPECT_EQ(owner({{"GEMINI_CLI", "1"}}), "gemini|proc-fedcba9876543210");
  EXPECT_EQ(owner({{"GEMINI_SESSION_ID", "c"}}), "gemini|c");
  EXPECT_EQ(owner({{"CODEX_THREAD_ID", "d"}, {"CODEX_SANDBOX", "x"}}), "codex|d");
  EXPECT_EQ(owner({{"CODEX_SESSION_ID", "s"}, {"CODEX_THREAD_ID", "d"}}), "codex|s");
  EXPECT_EQ(owner({{"CURSOR_TRACE_ID", "e"}}), "cursor|e");
  EXPECT_EQ(owner({{"CURSOR_SESSION_ID", "f"}, {"CURSOR_TRACE_ID", "e"}}), "cursor|f");
  EXPECT_EQ(owner({{"OPENCODE", "1"}}), "opencode|proc-fedcba9876543210");
}

TEST(Identity, under_the_user_fallback_the_terminal_tells_sessions_apart) {
  const Identity identity = found(request({{"USER", "u"}}));
  EXPECT_EQ(identity.session, "tty-0123456789abcdef");
  EXPECT_TRUE(identity.session_derived);
  EXPECT_EQ(identity.agent_from, "$USER");
  EXPECT_EQ(identity.session_from, "the terminal session");
}

TEST(Identity, B5_without_a_terminal_the_process_that_runs_the_commands_is_the_session) {
  IdentityRequest asked = request({{"USER", "u"}});
  asked.terminal_session = [] { return Derived(std::nullopt); };
  const Identity identity = found(asked);
  EXPECT_EQ(identity.session, "proc-fedcba9876543210");
  EXPECT_TRUE(identity.session_derived);
  EXPECT_EQ(identity.session_from, "the process that runs your commands");
  asked.client_process = [] { return Derived(std::nullopt); };
  EXPECT_EQ(found(asked).session, "");
  EXPECT_EQ(found(asked).session_from, "");
}

TEST(Identity, B4_a_coding_agent_without_a_session_id_is_told_by_its_process) {
  SeededRandom random(1);
  IdentityRequest asked = request({{"GEMINI_CLI", "1"}});
  EXPECT_EQ(found(asked).session, "proc-fedcba9876543210") << "whatever terminal it is in";
  EXPECT_FALSE(found(asked).session_derived) << "the agent is known";
  asked.new_session = &random;
  EXPECT_EQ(found(asked).session, "proc-fedcba9876543210") << "as if it had given it";
  asked.client_process = [] { return Derived(std::nullopt); };
  EXPECT_TRUE(found(asked).session.starts_with("s-"));
  asked.client_process = []() -> Derived { return fail(Code::kFailed, "no /proc"); };
  EXPECT_FALSE(find_identity(asked)) << "two of them must not become one owner";
}

TEST(Identity, B5_derived_sessions_are_recognised) {
  EXPECT_TRUE(is_derived_session("tty-0123456789abcdef/s-1"));
  EXPECT_TRUE(is_derived_session("proc-0123456789abcdef"));
  EXPECT_FALSE(is_derived_session("s-0123"));
  EXPECT_FALSE(is_derived_session(""));
}

TEST(Identity, a_terminal_that_cannot_be_told_apart_is_an_error) {
  IdentityRequest asked = request({{"USER", "u"}});
  asked.terminal_session = []() -> Derived { return fail(Code::kFailed, "no /proc"); };
  const auto refused = find_identity(asked);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("no /proc"), std::string::npos);
  EXPECT_NE(refused.error().hint.find("--agent"), std::string::npos);
  asked.agent = "named";  // it is not needed then
  EXPECT_EQ(found(asked).agent, "named");
}

TEST(Identity, without_user_the_passwd_entry_or_the_number) {
  const Identity identity = found(request({{"USER", ""}}));
  EXPECT_FALSE(identity.agent.empty());
  if (::geteuid() == 0) {
    EXPECT_EQ(identity.agent, "root");
  }
}

TEST(Identity, run_makes_a_session_where_nobody_named_one) {
  SeededRandom random(1);
  IdentityRequest asked = request({{"USER", "u"}});
  asked.new_session = &random;
  const std::string first = found(asked).session;
  const std::string second = found(asked).session;
  EXPECT_NE(first, second);
  EXPECT_TRUE(first.starts_with("tty-0123456789abcdef/")) << first;
  EXPECT_FALSE(found(asked).session_derived);
  asked.agent = "backend";
  const std::string own = found(asked).session;
  EXPECT_FALSE(own.empty());
  EXPECT_EQ(own.find('/'), std::string::npos);
  EXPECT_TRUE(check_session_name(own, "made").has_value());
  asked.session = "named";
  EXPECT_EQ(found(asked).session, "named");
}

TEST(Identity, bad_names_are_refused_naming_where_they_came_from) {
  const std::vector<std::string> bad = {"",
                                        std::string(201, 'a'),
                                        std::string("a\0b", 3),
                                        "a\nb",
                                        "bad\xff",
                                        "\x1b[31m",
                                        " a",
                                        "a ",
                                        "\xc2\x9b"
                                        "31m",
                                        "a\x7f",
                                        std::string(65536, 'x')};
  for (const std::string& name : bad) {
    IdentityRequest asked = request({});
    asked.agent = name;
    const auto refused = find_identity(asked);
    ASSERT_FALSE(refused.has_value()) << name.substr(0, 20);
    EXPECT_EQ(refused.error().code, Code::kInvalidInput);
    EXPECT_TRUE(refused.error().message.starts_with("--agent")) << refused.error().message;
    asked.agent = "ok";
    asked.session = name;
    EXPECT_EQ(find_identity(asked).has_value(), name.size() == 201) << "a session may be longer";
  }
  for (const char* name : {"/x", "x/", "a//b", "/"}) {
    EXPECT_EQ(check_session_name(name, "--session").error().code, Code::kInvalidInput) << name;
    EXPECT_TRUE(check_agent_name(name, "--agent").has_value()) << name;
  }
  const auto by_variable = find_identity(request({{"LOCKKEEPER_AGENT", "a\tb"}}));
  ASSERT_FALSE(by_variable.has_value());
  EXPECT_TRUE(by_variable.error().message.starts_with("LOCKKEEPER_AGENT"));
  EXPECT_TRUE(check_agent_name(std::string(200, 'a'), "x").has_value());
  EXPECT_TRUE(check_agent_name("\xc3\xa9l\xc3\xa8ve \xc2\xa0 2", "x").has_value());
}

}  // namespace
}  // namespace lockkeeper::realm
