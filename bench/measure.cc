#include "bench/measure.h"

#include <algorithm>

namespace lockkeeper::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr double kSliceMicros = 50'000;
constexpr double kSlicesLeast = 10;

}  // namespace

double Samples::at(double quantile) const {
  if (micros.empty()) return 0;
  std::vector<double> sorted = micros;
  const auto index = std::min(static_cast<std::size_t>(quantile * static_cast<double>(count())),
                              sorted.size() - 1);
  const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(sorted.begin(), place, sorted.end());
  return *place;
}

double micros_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count();
}

double timed(const std::function<void()>& work) {
  const auto start = SteadyClock::now();
  work();
  return micros_since(start);
}

std::vector<Samples> alternate(const std::vector<Once>& sides, double seconds, std::size_t least) {
  std::vector<Samples> samples(sides.size());
  std::vector<double> spent(sides.size(), 0);
  const double slice = std::min(kSliceMicros, seconds * 1e6 / kSlicesLeast);
  const auto done = [&](std::size_t side) {
    return spent[side] >= seconds * 1e6 && samples[side].count() >= least;
  };
  for (bool more = true; more;) {
    more = false;
    for (std::size_t side = 0; side < sides.size(); ++side) {
      if (done(side)) continue;
      more = true;
      const auto began = SteadyClock::now();
      do samples[side].add(sides[side]());
      while (micros_since(began) < slice);
      spent[side] += micros_since(began);
    }
  }
  return samples;
}

}  // namespace lockkeeper::bench
