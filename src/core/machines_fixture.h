// Tests of several machines on one store: the fixture.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/presence.h"
#include "core/testing.h"

namespace lockkeeper::core {

// Three machines whose clocks have nothing to do with one another.
class Machines : public testing::Test {
 protected:
  Realm& on(std::size_t machine) {
    realm_.machine = machines_[machine].get();
    return realm_;
  }
  void pass(std::int64_t ms) {
    realm_.pass(ms);
    realm_.store().pass(ms);
    for (const auto& machine : machines_) machine->pass(ms);
  }
  void vanish() {
    realm_.store().vanish([](std::string_view) { return true; });
  }
  bool held(std::size_t there) {
    return on(there).outcome(Realm::ask(kCat, {x("a")})) == Outcome::kHeld;
  }
  // A process of that session, which this machine hears.
  Attachment heard(std::size_t machine, std::uint64_t session, std::uint64_t number) {
    machines_[machine]->prober.heard.insert(number);
    return Attachment::remote(number, session);
  }
  Attachment begun(std::size_t machine, std::uint64_t session, std::uint64_t number) {
    EXPECT_TRUE(on(machine).run([&](Table& table) -> Result<bool> {
      LK_CHECK(begin_session(table.state(), session));
      return true;
    }));
    return heard(machine, session, number);
  }
  Result<bool> takes_over(std::size_t machine, std::uint64_t session) {
    return on(machine).run([&](Table& table) -> Result<bool> {
      LK_CHECK(take_over_session(table.state(), session));
      return true;
    });
  }
  Result<bool> ends(std::size_t machine, std::uint64_t session) {
    return on(machine).run([&](Table& table) -> Result<bool> {
      LK_CHECK(end_session(table.state(), session));
      return true;
    });
  }
  AcquireRequest kept_by(const Owner& owner, const Attachment& process) {
    AcquireRequest request = Realm::ask(owner, {x("a")});
    request.terms.ttl_ms = kNoEnd;
    request.attachment = process;
    return request;
  }
  AcquireRequest waiting(const Owner& owner, const Attachment& process) {
    AcquireRequest request = kept_by(owner, process);
    request.wait = true;
    request.waiting_process = process;
    return request;
  }
  AcquireRequest edit_of(const Owner& owner, std::string call) {
    AcquireRequest request = kept_by(owner, {});
    request.call = std::move(call);
    return request;
  }
  ReportReply report(std::size_t machine, const ReportRequest& request) {
    const auto reply = on(machine).run([&](Table& table) { return table.report(request); });
    EXPECT_TRUE(reply);
    return reply.value_or(ReportReply{});
  }
  std::string last_story() { return realm_.story().back(); }

  Realm realm_{kv::Flavour::kOptimistic};
  std::vector<std::unique_ptr<Machine>> machines_ = [this] {
    std::vector<std::unique_ptr<Machine>> made;
    for (const std::int64_t mono_ms : {5'000LL, 90'000'000LL, 700LL}) {
      made.push_back(std::make_unique<Machine>(realm_.store(), mono_ms));
    }
    return made;
  }();
};

}  // namespace lockkeeper::core
