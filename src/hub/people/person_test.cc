#include "hub/people/person.h"

#include <gtest/gtest.h>

#include "core/sessions.h"

namespace lockkeeper::hub {
namespace {

Person alice() {
  return {"alice", static_cast<unsigned>(Role::kRead), {"github.com/org/*", "docs"}};
}

TEST(Person, EveryOwnerGetsItsName) {
  EXPECT_EQ(*alice().signed_owner({"claude-code", ""}), (core::Owner{"claude-code@alice", ""}));
  EXPECT_EQ(*alice().signed_owner({"claude-code", "4f2a"}),
            (core::Owner{"claude-code@alice", "4f2a@alice"}));
  EXPECT_EQ(*alice().signed_owner({"x", "4f2a/sub/deep"}),
            (core::Owner{"x@alice", "4f2a@alice/sub/deep"}));
  EXPECT_EQ(*alice().signed_owner({"x", "-/sub"}), (core::Owner{"x@alice", "-/sub"}));
}

TEST(Person, WhoHasTheNameKeepsIt) {
  const core::Owner once = *alice().signed_owner({"x", "s/part"});
  EXPECT_EQ(*alice().signed_owner(once), once);
}

TEST(Person, NobodyCanSendTheNameOfAnother) {
  for (const core::Owner& sent :
       {core::Owner{"x@bob", ""}, core::Owner{"x@bob@alice", ""}, core::Owner{"@", ""},
        core::Owner{"x", "s@bob"}, core::Owner{"x", "s@bob/part"}, core::Owner{"x@alicf", ""}}) {
    EXPECT_FALSE(alice().signed_owner(sent)) << sent.agent << " " << sent.session;
  }
  EXPECT_FALSE(alice().signed_owner({"", ""}));
}

// Sessions lie within each other whatever their agents are called, so they carry the name too.
TEST(Person, APartOfAnothersSessionIsNotAPartOfIt) {
  const Person bob{"bob", kEveryRole, {"*"}};
  for (const char* const session : {"s", "run-1", "a.b"}) {
    const core::Owner hers = *alice().signed_owner({"x", session});
    const core::Owner his = *bob.signed_owner({"x", std::string(session) + "/part"});
    EXPECT_FALSE(core::is_part_of(his, hers)) << session;
    EXPECT_TRUE(core::is_part_of(*alice().signed_owner({"y", "s/part"}), {"x@alice", "s@alice"}));
  }
}

TEST(Person, OwnsWhatHasItsNameAlone) {
  EXPECT_TRUE(alice().owns({"x@alice", ""}));
  EXPECT_FALSE(alice().owns({"x@malice", ""}));
  EXPECT_FALSE(alice().owns({"x", ""}));
  EXPECT_FALSE(alice().owns({"x@bob@alice", ""}));
}

TEST(Person, RolesAndRealms) {
  EXPECT_TRUE(alice().must_have(Role::kRead));
  EXPECT_TRUE((Person{"ops", static_cast<unsigned>(Role::kBreak), {}}.has(Role::kRead)));
  const auto refused = alice().must_have(Role::kBreak);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kOperationNotPermitted);
  EXPECT_NE(refused.error().message.find("break"), std::string::npos);
  EXPECT_TRUE(alice().may_enter("github.com/org/repo"));
  EXPECT_TRUE(alice().may_enter("docs"));
  EXPECT_FALSE(alice().may_enter("github.com/other/repo"));
  EXPECT_FALSE(alice().may_enter("docs2"));
}

}  // namespace
}  // namespace lockkeeper::hub
