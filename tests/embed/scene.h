// A stage on which this very process is an embedder, beside the shipped program and the holder.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "embed/realms.h"
#include "support/stage.h"

namespace lockkeeper::stage {

class EmbedTest : public testing::Test {
 protected:
  EmbedTest();
  ~EmbedTest() override;

  // A realm of the stage's repository, with a new session.
  Realm realm(const std::string& agent = "embedder") const {
    return opened(Realm::open({.path = stage_.repo(), .agent = agent}));
  }

  // The holder (holder.cc) in another process.
  Process holder(const std::string& mode, const std::string& resource,
                 std::chrono::milliseconds ttl, const Words& rest = {});
  // Until it has said this.
  static void expect_says(const Process& process, const std::string& text);
  // Has it act once, and gives what it says of that.
  std::string act(const Process& process, int number) const;

  Stage stage_;
};

// The words before the first one that begins with it, if any: for "granted 17".
std::uint64_t fence_said(const std::string& text);

}  // namespace lockkeeper::stage
