// What the benchmark found out: figures, and the targets they are held against. How it is shown is
// told in show.h.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"

namespace lockkeeper::bench {

// One line of figures.
struct Row {
  std::string name;
  std::string durability;  // what survives what; "-" where nothing is kept
  Samples samples;
  std::string lacks;      // what a peer does not do
  double per_second = 0;  // all processes together; 0: not measured
};

enum class Verdict { kAim, kMet, kMissed, kPublished };

// One target: a figure and what it must be. A figure without a bound is published, not judged.
struct Target {
  enum class Better { kLess, kMore };
  std::string what = {};  // "the bare LMDB pair"
  double value = 0;
  std::string unit = {};  // "×", "µs", "ms", "MiB"
  Better better = Better::kLess;
  std::optional<double> must = {};
  std::optional<double> aim = {};

  Verdict verdict() const;
};

// What one question found.
struct Answer {
  std::string id;
  std::string title;
  std::vector<Row> rows;
  std::vector<Target> targets;
  std::vector<std::string> skipped;
  std::vector<std::string> notes;

  // nullptr if that peer was skipped.
  const Row* find(const std::string& name) const;

  // A target on p50 of one row over p50 of another; nothing if either is missing.
  void ratio(const std::string& above, const std::string& below, Target target);
};

struct Report {
  std::vector<std::pair<std::string, std::string>> facts;  // machine and versions
  std::vector<Answer> answers;
};

}  // namespace lockkeeper::bench
