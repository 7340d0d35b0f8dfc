// For tests alone: agents whose hooks run in one repository, each as its client would run it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "enforce/hook/hook.h"
#include "enforce/hook/payloads_testing.h"
#include "service/local/test_site.h"
#include "service/locks.h"

namespace lockkeeper::enforce::hook {

class Hooks : public testing::Test, protected Payloads {
 protected:
  Hooks() { root = site_.files.at("repo"); }
  void write(const std::string& name, const std::string& text) {
    site_.files.write("repo/" + name, text);
  }

  World world(Client client) {
    service::Runtime& runtime = site_.service_runtime;
    static_cast<layout::Runtime&>(runtime) = site_.runtime;
    World world;
    world.runtime = &runtime;
    world.client = client;
    world.cwd = site_.files.path();
    world.client_pid = client_pid_;
    world.process_session = process_session_;
    return world;
  }
  // One run of the hook: a process of its own would see the same.
  Said run(Client client, const json& payload) {
    return answer_hook(world(client), payload.dump());
  }

  // Empty: the call passes, without a word.
  std::string refusal(Client client, const json& payload) {
    const Said said = run(client, payload);
    if (said.out.empty()) return said.err;
    const json out = json::parse(said.out);
    const auto nested = out.find("hookSpecificOutput");
    if (nested == out.end() || !nested->contains("permissionDecision")) return {};
    EXPECT_EQ((*nested)["permissionDecision"], "deny");
    return (*nested)["permissionDecisionReason"];
  }
  std::string refusal(const json& payload) { return refusal(Client::kClaude, payload); }
  // What the model is told besides.
  std::string told(Client client, const json& payload) {
    const Said said = run(client, payload);
    if (said.out.empty()) return {};
    const json out = json::parse(said.out);
    const auto nested = out.find("hookSpecificOutput");
    return nested == out.end() ? std::string() : nested->value("additionalContext", "");
  }
  std::string told(const json& payload) { return told(Client::kClaude, payload); }

  service::Locks locks(const core::Owner& owner) {
    view_ = site_.site();
    return {*view_, owner};
  }
  // "claude-code s1 src/a.c" for each edit, in order.
  std::vector<std::string> held() {
    const auto list = locks({"test", ""}).list({});
    EXPECT_TRUE(list) << list.error().message;
    std::vector<std::string> lines;
    for (const auto& listed : list->leases) {
      for (const core::Claim& claim : listed.lease.claims) {
        lines.push_back(listed.lease.owner.agent + " " + listed.lease.owner.session + " " +
                        claim.resource.text());
      }
    }
    std::ranges::sort(lines);
    return lines;
  }
  service::AcquireResult take(const core::Owner& owner, const std::string& file) {
    service::AcquireCommand command;
    command.wanted.texts = {file};
    auto result = locks(owner).acquire(command);
    EXPECT_TRUE(result) << result.error().message;
    return result ? std::move(*result) : service::AcquireResult{};
  }
  std::vector<std::string> events(const std::string& what) {
    const auto log = locks({"test", ""}).log({});
    EXPECT_TRUE(log) << log.error().message;
    std::vector<std::string> lines;
    for (const core::Event& event : *log) {
      if (event.what == what) lines.push_back(event.owner.agent + " " + event.resources.front());
    }
    return lines;
  }
  bool has_store() const { return std::filesystem::exists(site_.realm.store_folder); }

  service::TestSite site_;
  std::unique_ptr<service::Site> view_;
  std::optional<int> client_pid_;
  std::string process_session_;
};

}  // namespace lockkeeper::enforce::hook
