// For tests of runs: plans written by a test, agents that are shell lines, and their results.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/stage.h"

namespace lockkeeper::stage {

// One agent of a scopes file; `more` are further fields as YAML, each "key: value".
struct Hand {
  std::string agent;
  std::vector<std::string> files;
  std::string command;
  std::vector<std::string> after = {};
  std::vector<std::string> more = {};
};

class CrewStage : public testing::Test {
 protected:
  CrewStage();

  std::string out() const { return stage_.path("out"); }
  std::string plan() const { return stage_.path("plan.yaml"); }
  void write_plan(const std::vector<Hand>& hands) const;
  // `workflow run PLAN --output OUT` and more arguments.
  Words words(const Words& more = {}) const;
  Answer run(const Words& more = {}) { return stage_.as("lead", words(more)); }
  Process start(const Words& more = {}) { return stage_.start("lead", words(more)); }

  // Waits until the foreman has said this.
  static bool tells(const Process& foreman, const std::string& text) {
    return eventually([&] { return foreman.out().find(text) != std::string::npos; });
  }

  // What agents wrote into the file `ran`, line by line, sorted.
  std::vector<std::string> ran() const;
  // The run's record, from OUT/report.json.
  Json report() const;
  Json agent(const std::string& id) const;
  std::string ending(const std::string& id) const;  // of its last attempt
  std::string log(const std::string& id, int attempt = 1) const;

  // No lease, no waiter, no lock file, no supervisor.
  void expect_nothing_left();

  // A shell line that waits until the file exists.
  static std::string until(const std::string& file) {
    return "while [ ! -e " + file + " ]; do sleep 0.02; done";
  }
  // A shell line that prints the agent's name if it holds FILE now.
  static std::string says(const std::string& name, const std::string& file);

  Stage stage_;
};

}  // namespace lockkeeper::stage
