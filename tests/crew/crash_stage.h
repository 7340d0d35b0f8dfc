// For tests alone: a foreman that is killed with -9 at each of its steps, before and after every
// system call that may change something.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "chaos/crash_point.h"
#include "support/campaign.h"
#include "support/stage.h"

namespace lockkeeper::stage {

template <class Base>
class CrashStage : public Base {
 protected:
  virtual Words killed_words() = 0;
  virtual void expect_goes_on() = 0;
  virtual void clean_up() = 0;

  // Killed before or after its N-th call; false: it finished.
  bool killed_at(int place, bool after) {
    Launch launch = this->stage_.launch("lead", killed_words());
    launch.traced = true;
    Process process(launch);
    at_ = "place " + std::to_string(place);
    const int status = process.step([&](const SystemCall& call) {
      if (call.number != place || call.done != after) return true;
      at_ = (after ? "after " : "before ") + call.name + ", call " + std::to_string(place);
      return false;
    });
    return status == kKilled;
  }

  // Every `stride`-th call from `first` on, before it and after it.
  void at_places(int first, int stride) {
    int killed = 0;
    for (int place = first;; place += stride) {
      bool died = false;
      for (const bool after : {false, true}) {
        if (testing::Test::HasFatalFailure() || testing::Test::HasFailure()) return;
        if (killed_at(place, after)) {
          died = true;
          ++killed;
          expect_goes_on();
        }
        clean_up();
      }
      if (!died) break;
    }
    EXPECT_GT(killed, 5) << "nothing was tested";
    testing::Test::RecordProperty("killed", killed);
  }

  std::string at_;
};

}  // namespace lockkeeper::stage
