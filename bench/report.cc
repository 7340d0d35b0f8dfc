#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockkeeper::bench {

double micros_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

double Samples::at(double quantile) const {
  if (micros.empty()) return 0;
  std::vector<double> sorted = micros;
  std::sort(sorted.begin(), sorted.end());
  const auto index = static_cast<std::size_t>(quantile * static_cast<double>(sorted.size()));
  return sorted[std::min(index, sorted.size() - 1)];
}

Samples measure(double seconds, std::size_t least, const std::function<void()>& once) {
  Samples samples;
  const auto began = std::chrono::steady_clock::now();
  while (samples.micros.size() < least || micros_since(began) < seconds * 1e6) {
    const auto start = std::chrono::steady_clock::now();
    once();
    samples.micros.push_back(micros_since(start));
  }
  return samples;
}

const Row* Report::find(const std::string& what) const {
  for (const Row& row : rows) {
    if (row.what == what) return &row;
  }
  return nullptr;
}

void Report::ratio(const std::string& text, const std::string& left, const std::string& right,
                   double limit) {
  const Row* a = find(left);
  const Row* b = find(right);
  if (a == nullptr || b == nullptr || b->samples.p50() == 0) return;
  claims.push_back({text, a->samples.p50() / b->samples.p50(), limit, "×"});
}

void Report::bound(const std::string& text, const std::string& what, double limit_micros,
                   double quantile) {
  const Row* row = find(what);
  if (row == nullptr) return;
  claims.push_back({text, row->samples.at(quantile), limit_micros, "µs"});
}

void Report::print() const {
  fmt::print("{:<52} {:<8} {:>9} {:>9} {:>9}  {}\n", "what", "durable", "p50 µs", "p99 µs",
             "max µs", "n");
  for (const Row& row : rows) {
    fmt::print("{:<52} {:<8} {:>9.1f} {:>9.1f} {:>9.0f}  {}\n", row.what, row.durability,
               row.samples.p50(), row.samples.at(0.99), row.samples.at(1),
               row.samples.micros.size());
    if (!row.remark.empty()) fmt::print("    {}\n", row.remark);
  }
  fmt::print("\n");
  for (const Claim& claim : claims) {
    fmt::print("{:<4} {:<60} {:>8.2f} {} (at most {:.0f} {})\n",
               claim.value <= claim.limit ? "met" : "MISS", claim.text, claim.value, claim.unit,
               claim.limit, claim.unit);
  }
  for (const std::string& skipped_row : skipped) fmt::print("skipped: {}\n", skipped_row);
}

void Report::print_json() const {
  nlohmann::ordered_json json;
  json["rows"] = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    json["rows"].push_back({{"what", row.what},
                            {"durability", row.durability},
                            {"p50_us", row.samples.p50()},
                            {"p99_us", row.samples.at(0.99)},
                            {"max_us", row.samples.at(1)},
                            {"n", row.samples.micros.size()},
                            {"remark", row.remark}});
  }
  json["claims"] = nlohmann::ordered_json::array();
  for (const Claim& claim : claims) {
    json["claims"].push_back({{"what", claim.text},
                              {"value", claim.value},
                              {"limit", claim.limit},
                              {"unit", claim.unit},
                              {"met", claim.value <= claim.limit}});
  }
  json["skipped"] = skipped;
  fmt::print("{}\n", json.dump());
}

}  // namespace lockkeeper::bench
