// F1: a verb of the shipped program is killed at the N-th place, N = 1, 2, 3, … until it completes.
// Whatever N: the old state or the new one, never between, and the same request again gives the
// right answer. Places are its calls to the store (LOCKKEEPER_TEST_FAULT) or, for what happens
// below that seam (creating, opening, committing, repairing), its system calls.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>

#include "support/stage.h"

namespace lockkeeper::stage {

inline constexpr int kKilled = 137;
inline constexpr int kPlacesMost = 2'000;  // no verb has nearly as many

// False: nobody may trace here, and killed_at() cannot work.
bool may_trace(Stage& stage);
// Runs the verb and kills it before its N-th system call that may change something, or after it;
// `at` is told its name. It must end with 0 otherwise.
Answer killed_at(Stage& stage, int place, bool after, const std::string& agent, Words words,
                 std::string& at);

// Durability, and whether the kill comes before or after the place.
using CrashParam = std::tuple<const char*, bool>;

class CrashPoint : public testing::TestWithParam<CrashParam> {
 protected:
  void SetUp() override {
    stage_.file("lockkeeper.toml", "[store]\ndurability = \"" + durability() + "\"\n");
  }

  static std::string durability() { return std::get<0>(GetParam()); }
  static bool after() { return std::get<1>(GetParam()); }

  // Calls `once` for N = 1, 2, 3, … until it says that the program was not killed: true if it was.
  // Fewer places than `at_least` mean that nothing was tested.
  void at_every_place(int at_least, const std::function<bool(int place)>& once);

  // True if it was killed; else it must have ended with 0.
  bool dies(int place, const std::string& agent, const Words& words);
  Launch planned(int place, const std::string& agent, const Words& words);

  // The verb of a reader is killed at every place: a lease is as it was, and others go on.
  void reader_dies(const Words& words);

  // A request id of its own for each place.
  std::string id() const { return "r" + std::to_string(place_); }

  // The one lease that there is; null: none.
  Json only_lease();
  void healthy() { stage_.expect(0, "", {"doctor"}); }

  Stage stage_;
  int place_ = 0;
};

// "process_before" and the like.
std::string crash_name(const testing::TestParamInfo<CrashParam>& info);

}  // namespace lockkeeper::stage
