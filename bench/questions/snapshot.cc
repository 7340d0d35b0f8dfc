// What a hook pays for keeping what files contain.
#include <fstream>

#include "bench/must.h"
#include "bench/questions/questions.h"
#include "snapshot/keeper.h"

namespace lockkeeper::bench {
namespace {

constexpr std::size_t kKeptBytes = 100U << 10;
constexpr std::int64_t kLongLater = 4'000'000'000'000;  // so that files look old

// As source code looks to a compressor: short lines of few words, none like the one before.
std::string source_text(std::size_t bytes, unsigned number) {
  constexpr const char* kWords[] = {"return ", "if (",  "value", " = ", "result", ");\n  ",
                                    "const ",  "std::", "count", " + ", "{\n",    "}\n\n"};
  std::string text = "// " + std::to_string(number) + "\n";
  std::uint64_t state = number + 1;
  while (text.size() < bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    text += kWords[(state >> 33U) % std::size(kWords)];
    if (state % 5 == 0) text += std::to_string(state % 1000);
  }
  text.resize(bytes);
  return text;
}

}  // namespace

void ask_snapshot(const Setup& setup, Answer& answer) {
  const std::string folder = setup.fresh("snapshot");
  const std::string tree = folder + "/tree";
  std::filesystem::create_directories(tree);
  unsigned number = 0;
  // Each time another keeper, as each hook is another process.
  const auto keeper = [&](bool durable) {
    return snapshot::Keeper({.store = folder, .durable = durable}, {}, tree, {});
  };
  const auto changed = [&](bool durable) {
    return [&, durable] {
      std::ofstream(tree + "/a.cc", std::ios::trunc) << source_text(kKeptBytes, ++number);
      return timed([&] { must(keeper(durable).keep("a.cc", {}, kLongLater)); });
    };
  };
  const auto unchanged = [&] {
    return timed([&] { must(keeper(false).keep("same.cc", {}, kLongLater)); });
  };
  std::ofstream(tree + "/same.cc") << source_text(kKeptBytes, 0);
  std::vector<Samples> samples =
      alternate({changed(false), changed(true), unchanged}, setup.seconds, kPairsLeast);
  const double process = samples[0].p50();
  const double full = samples[1].p50();
  answer.rows.push_back(
      {"100 KiB that changed, durability process", "process", std::move(samples[0]), ""});
  answer.rows.push_back(
      {"100 KiB that changed, durability full", "full", std::move(samples[1]), ""});
  answer.rows.push_back({"100 KiB that did not change", "process", std::move(samples[2]), ""});
  answer.targets.push_back({.what = "100 KiB on top of the hook (process), at most",
                            .value = process / 1000,
                            .unit = "ms",
                            .must = 1});
  answer.targets.push_back({.what = "100 KiB on top of the hook (full), at most",
                            .value = full / 1000,
                            .unit = "ms",
                            .must = 1});
}

}  // namespace lockkeeper::bench
