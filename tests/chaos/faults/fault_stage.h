// A stage on which the shipped program meets faults that are not there: the preloaded library of
// preload.cc, told by variables.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/random.h"
#include "support/stage.h"

namespace lockkeeper::faults {

using stage::Answer;
using stage::Json;
using stage::Launch;
using stage::Process;
using stage::Stage;
using stage::Words;

// Why there can be no preloading in this build; empty if there can.
std::string no_preload();

// LOCKKEEPER_FAULTS_TRIALS, or what a test does by default.
std::uint64_t trials(std::uint64_t otherwise);

// LOCKKEEPER_FAULTS_SEED, or a new one.
std::uint64_t seed();

// While it lives temporary folders are in memory, where a sync costs nothing. To stand before the
// stage in a fixture.
class InMemory {
 public:
  InMemory();
  ~InMemory();
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;
};

class FaultStage : public Stage {
 public:
  using Faults = std::map<std::string, std::string>;  // variables of preload.cc, without FAULTS_

  explicit FaultStage(Git git = Git::kYes) : Stage(git) {}

  void set_durability(const std::string& durability) const;

  // The program with these faults.
  Launch faulty(const Faults& faults, const std::string& agent, const Words& words);
  Answer with(const Faults& faults, const std::string& agent, Words words);
  // The whole stage with these faults from now on; a fault of none is taken away.
  void have(const Faults& faults);

  std::string data() const { return store() + "/data.mdb"; }
  // Where the store's epoch file is kept a second time. REQUIRES: there is a store.
  std::string epoch_copy() const;
};

// The code in an answer's error, or "".
std::string code_of(const Answer& answer);

// The error has a known code and the exit status of that code. Fails the test if the process died
// of a signal or said something else.
void expect_named(const Answer& answer);

}  // namespace lockkeeper::faults
