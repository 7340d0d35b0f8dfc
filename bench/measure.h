// Durations, and how they are taken so that the machine's noise hits all sides alike.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace lockkeeper::bench {

struct Samples {
  std::vector<double> micros;

  void add(double value) { micros.push_back(value); }
  std::size_t count() const { return micros.size(); }
  // Of the sorted samples; 0 if there are none.
  double at(double quantile) const;
  double p50() const { return at(0.5); }
  double max() const { return at(1); }
};

double micros_since(std::chrono::steady_clock::time_point start);
double timed(const std::function<void()>& work);

// Does something once and says how many microseconds it took.
using Once = std::function<double()>;

// Each in turn for a slice of time, again and again, until each has had `seconds` and has been done
// at least `least` times: what slows the machine down for a while slows all of them.
std::vector<Samples> alternate(const std::vector<Once>& sides, double seconds, std::size_t least);
inline constexpr std::size_t kPairsLeast = 20;

}  // namespace lockkeeper::bench
