// The doctor's proof and the hook agree: what the doctor feeds is an edit to the hook, and what the
// hook says is a refusal to the doctor.
#include "install/proof.h"

#include <gtest/gtest.h>

#include "enforce/answer.h"
#include "enforce/tools.h"

namespace lockkeeper::install {
namespace {

ProofEdit edit() {
  return {"/repo", ".lockkeeper-proof-1", "lockkeeper-proof-1"};
}

enforce::Event read(const ClientFacts& facts, const std::string& payload) {
  const auto client = enforce::client_named(facts.name);
  EXPECT_TRUE(client) << facts.name;
  const auto event = enforce::read_event(*client, payload);
  EXPECT_TRUE(event) << facts.name << ": " << event.error().message;
  EXPECT_EQ(enforce::client_name(event->client), facts.name);
  EXPECT_EQ(event->session, edit().session) << facts.name;
  return *event;
}

Heard heard(const enforce::Said& said) {
  return {.status = said.exit_code, .out = said.out, .err = said.err};
}

TEST(DoctorsProof, IsAnEditOfThatFileInEveryClient) {
  for (const ClientFacts& facts : all_clients()) {
    const enforce::Event event = read(facts, edit_payload(facts.client, edit()));
    EXPECT_EQ(event.moment, enforce::Moment::kBefore) << facts.name;
    EXPECT_EQ(event.cwd, "/repo") << facts.name;
    ASSERT_EQ(event.calls.size(), 1U) << facts.name;
    const auto touch = enforce::touch_of(event.client, event.calls[0]);
    ASSERT_TRUE(touch) << facts.name << ": " << touch.error().message;
    EXPECT_EQ(touch->what, enforce::Touch::What::kEdit) << facts.name;
    ASSERT_EQ(touch->paths.size(), 1U) << facts.name;
    EXPECT_TRUE(touch->paths[0].ends_with(edit().file)) << facts.name << " " << touch->paths[0];
    const enforce::Event end = read(facts, end_payload(facts.client, edit()));
    EXPECT_EQ(end.moment, enforce::Moment::kSessionOver) << facts.name;
  }
}

TEST(DoctorsProof, ReadsWhatTheHookSays) {
  for (const ClientFacts& facts : all_clients()) {
    const enforce::Event event = read(facts, edit_payload(facts.client, edit()));
    EXPECT_EQ(read_verdict(facts.client, heard(enforce::say(event, {}))).verdict, Verdict::kPassed)
        << facts.name;
    const enforce::Said refused = enforce::say(event, {enforce::Verdict::kRefuse, "held by bob"});
    const ReadVerdict read = read_verdict(facts.client, heard(refused));
    EXPECT_EQ(read.verdict, Verdict::kRefused) << facts.name << ": " << refused.out;
    EXPECT_EQ(read.reason, "held by bob") << facts.name;
    const enforce::Said unread = enforce::refuse_unread(event.client, "[", "no payload");
    EXPECT_EQ(read_verdict(facts.client, heard(unread)).verdict, Verdict::kRefused) << facts.name;
    const enforce::Said asked = enforce::say(event, {enforce::Verdict::kAsk, "held by bob"});
    EXPECT_NE(read_verdict(facts.client, heard(asked)).verdict, Verdict::kPassed) << facts.name;
  }
}

}  // namespace
}  // namespace lockkeeper::install
