// Samples, and the table they become.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockkeeper::bench {

struct Samples {
  std::vector<double> micros;
  double at(double quantile) const;  // of the sorted samples; 0 if there are none
  double p50() const { return at(0.5); }
};

// Runs `once` until `seconds` are over, at least `least` times, and keeps each duration.
Samples measure(double seconds, std::size_t least, const std::function<void()>& once);

double micros_since(std::chrono::steady_clock::time_point start);

struct Row {
  std::string what;
  std::string durability;  // "process", "full", "-"
  Samples samples;
  std::string remark;  // what a peer does not do
};

// One claim about two figures of the same run: p50 of `left` at most `factor` times p50 of `right`,
// or at most `micros`.
struct Claim {
  std::string text;
  double value;
  double limit;
  std::string unit;  // "×" or "µs"
};

struct Report {
  std::vector<Row> rows;
  std::vector<Claim> claims;
  std::vector<std::string> skipped;

  const Row* find(const std::string& what) const;
  void ratio(const std::string& text, const std::string& left, const std::string& right,
             double limit);
  void bound(const std::string& text, const std::string& what, double limit_micros,
             double quantile = 0.5);
  void print() const;
  void print_json() const;
};

}  // namespace lockkeeper::bench
