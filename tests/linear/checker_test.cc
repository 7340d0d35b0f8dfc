// The checker itself: known good and bad histories, and a second checker on many small ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "linear/brute.h"
#include "linear/check.h"

namespace lockkeeper::linear {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<fs::path> files_of(const char* kind) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(LOCKKEEPER_HISTORIES) / kind)) {
    files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

TEST(KnownHistories, GoodOnesAreLinearizable) {
  const auto files = files_of("good");
  EXPECT_GE(files.size(), 12U);
  for (const fs::path& file : files) {
    const History history = parse_history(read(file));
    const Verdict verdict = check(history);
    EXPECT_EQ(verdict.outcome, Outcome::kLinearizable) << file.filename() << "\n" << verdict.why;
  }
}

TEST(KnownHistories, I1_I2_I3_I4_I5_I6_I8_I9_L1_L2_L4_L5_BadOnesAreNot) {
  const auto files = files_of("bad");
  EXPECT_GE(files.size(), 12U);
  for (const fs::path& file : files) {
    const History history = parse_history(read(file));
    const Verdict verdict = check(history);
    EXPECT_EQ(verdict.outcome, Outcome::kViolated) << file.filename();
    EXPECT_NE(verdict.why, "");
  }
}

TEST(KnownHistories, EachSaysInOneSentenceWhatItShows) {
  for (const char* kind : {"good", "bad"}) {
    for (const fs::path& file : files_of(kind)) {
      const std::string text = read(file);
      EXPECT_TRUE(text.starts_with("# ")) << file;
      EXPECT_EQ(text[text.find('\n') - 1], '.') << file;
    }
  }
}

TEST(Format, WrittenAndReadAgainItIsTheSame) {
  for (const char* kind : {"good", "bad"}) {
    for (const fs::path& file : files_of(kind)) {
      const History history = parse_history(read(file));
      const std::string text = to_text(history);
      EXPECT_EQ(to_text(parse_history(text)), text) << file;
      EXPECT_EQ(check(parse_history(text)).outcome, check(history).outcome) << file;
    }
  }
}

TEST(Format, WhatIsNoHistoryIsRefusedWithItsLine) {
  for (const char* text :
       {"> 1 10 p1 a fly x:src/a", "< 1 20 granted", "> 1 ten p1 a check x:a",
        "> 1 10 p1 a check x:a\n> 1 20 p1 a check x:a", "> 1 10 p1 a check x:a\n< 1 5 checked",
        "hello", "> 1 10 p1 a check x:a\n< 1 15 granted"}) {
    EXPECT_THROW(parse_history(text), BadHistory) << text;
  }
}

TEST(Parts, AreApartOnlyIfNeitherResourcesNorOwnersMeet) {
  const auto parts = [](const std::string& text) {
    return independent_parts(parse_history(text)).size();
  };
  EXPECT_EQ(parts("> 1 1 p a check x:src/a\n> 2 2 p b check x:docs/a\n"), 2U);
  EXPECT_EQ(parts("> 1 1 p a check x:src/a\n> 2 2 p b check x:src/*\n"), 1U);
  EXPECT_EQ(parts("> 1 1 p a check x:src/a\n> 2 2 p b check x:src/b\n"), 2U);
  EXPECT_EQ(parts("> 1 1 p a check x:src/a\n> 2 2 p a check x:docs/b\n"), 1U);
  EXPECT_EQ(parts("> 1 1 p a check x:src/a x:docs/b\n> 2 2 p b check x:docs/b\n"), 1U);
  EXPECT_EQ(parts("> 1 1 p a check x:src/a\n> 2 2 p b check x:docs/b\n> 3 3 p c check x:**/b\n"),
            2U);
}

// Not a pass: a history that cannot be decided within the limit says so.
TEST(Limits, UndecidedIsNotLinearizable) {
  std::string text;
  for (int i = 1; i <= 12; ++i) {
    const std::string n = std::to_string(i);
    text += "> " + n + " 10 p" + n + " w" + n + " acquire s:src/a\n";
    text += "< " + n + " 1000 granted lease=L" + n + " fence=" + std::to_string(100 + i) + "\n";
  }
  const History history = parse_history(text);
  EXPECT_EQ(check(history).outcome, Outcome::kLinearizable);
  EXPECT_EQ(check(history, {5, 120, true}).outcome, Outcome::kUndecided);
  EXPECT_EQ(check(history, {5'000'000, 0, true}).outcome, Outcome::kUndecided);
}

TEST(Export, HasEveryCallForOtherCheckers) {
  for (const fs::path& file : files_of("good")) {
    const History history = parse_history(read(file));
    const std::string lines = to_json_lines(history);
    EXPECT_EQ(std::ranges::count(lines, '\n'), static_cast<int>(history.calls.size()));
    std::istringstream stream(lines);
    std::size_t i = 0;
    for (std::string line; std::getline(stream, line); ++i) {
      const auto json = nlohmann::json::parse(line);
      const Call& call = history.calls[i];
      EXPECT_EQ(json["call"], call.invoked);
      const bool open = !call.answered() || call.told.word == "unknown";
      EXPECT_EQ(json["return"].is_null(), open);
      EXPECT_EQ(json["input"]["verb"], name_of(call.asked.verb));
      if (open) continue;
      EXPECT_EQ(json["output"]["outcome"], call.told.word);
    }
    const std::string edn = to_edn(history);
    EXPECT_EQ(std::ranges::count(edn, '\n'), static_cast<int>(2 * history.calls.size()));
    EXPECT_EQ(std::ranges::count(edn, '{'), std::ranges::count(edn, '}'));
    EXPECT_EQ(edn.find(":type :invoke") != std::string::npos, !history.calls.empty());
  }
}

// --- differential ---

class Small {
 public:
  explicit Small(std::uint64_t seed) : random_(seed) {}

  // A run of the second checker's table in some order, the calls spread around it; then, half of
  // the time, one answer is spoilt.
  History history() {
    History history;
    const std::size_t count = 2 + below(6);
    std::vector<std::pair<std::string, std::uint64_t>> known;
    brute::Table table;
    for (std::size_t i = 0; i < count; ++i) {
      Call call = next(i, known);
      const Told told = table.answer(call, false);
      if (told.word == "granted" && told.lease.empty()) {
        call.told.lease = "L" + std::to_string(i);
        call.told.fence = 10 + i;
        known.emplace_back(call.told.lease, call.told.fence);
        call.told.word = "granted";
        table.answer(call, true);
      } else {
        call.told = told;
        table.answer(call, true);
      }
      const auto moment = static_cast<std::int64_t>(10 + i * 10);
      call.invoked = std::max<std::int64_t>(0, moment - static_cast<std::int64_t>(below(25)));
      call.returned = moment + static_cast<std::int64_t>(below(25));
      history.calls.push_back(std::move(call));
    }
    spoil(history);
    std::ranges::stable_sort(history.calls, {}, &Call::invoked);
    return history;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  Call next(std::size_t i, const std::vector<std::pair<std::string, std::uint64_t>>& known) {
    Call call;
    call.number = i;
    call.process = "p" + std::to_string(i);
    call.owner = below(2) == 0 ? "a@s" : "b@s";
    if (below(3) != 0) call.asked.attach = below(2) == 0 ? "q1" : "q2";
    const std::size_t dice = below(10);
    call.asked.verb = dice < 5 ? Verb::kAcquire : dice < 8 ? Verb::kCheck : Verb::kRelease;
    if (call.asked.verb == Verb::kRelease && known.empty()) call.asked.verb = Verb::kAcquire;
    if (call.asked.verb == Verb::kRelease) {
      call.asked.lease = known[below(known.size())].first;
      call.asked.only_own_hold = !call.asked.attach.empty() && below(2) == 0;
      return call;
    }
    if (call.asked.verb == Verb::kCheck) call.asked.attach.clear();
    if (call.asked.verb == Verb::kAcquire && below(2) == 0) {
      call.asked.request_id = below(3) == 0 ? "r2" : "r1";
    }
    call.asked.wishes = {{brute::kResources[below(3)],
                          below(3) == 0 ? core::Mode::kShared : core::Mode::kExclusive}};
    if (call.asked.verb == Verb::kCheck && !known.empty() && below(2) == 0) {
      call.asked.fence = known[below(known.size())].second;
    }
    return call;
  }

  void spoil(History& history) {
    for (Call& call : history.calls) {
      // A lease whose name or fence is used later was granted, and somebody was told.
      const bool named = std::ranges::any_of(history.calls, [&](const Call& other) {
        return !call.told.lease.empty() &&
               (other.asked.lease == call.told.lease || other.asked.fence == call.told.fence);
      });
      if (below(6) != 0 || named) continue;
      call.told = {};
      call.returned = kNever;
    }
    if (below(2) == 0) return;
    Call& call = history.calls[below(history.calls.size())];
    if (call.told.word == "checked") {
      (below(2) == 0 ? call.told.free : call.told.mine) ^= true;
    } else if (call.told.word == "granted") {
      call.told.fence = below(2) == 0 ? 5 : call.told.fence + 30;
    } else if (call.told.word == "held") {
      call.told = {};
      call.told.word = "granted";
      call.told.lease = "S";
      call.told.fence = 17;
    } else if (call.told.word == "renewed") {
      (below(2) == 0 ? call.told.word : call.told.lease) = "granted";
    } else if (call.told.word == "released" || call.told.word == "kept") {
      static const char* const kOthers[] = {"not_found", "lost", "kept", "released"};
      call.told.word = kOthers[below(4)];
    } else if (call.told.word == "lost" || call.told.word == "misused") {
      call.told.word = call.asked.verb == Verb::kRelease ? "not_found" : "lost";
    } else if (call.told.word == "not_found") {
      call.told.word = "lost";
    }
  }

  std::mt19937_64 random_;
};

TEST(SecondChecker, AgreesOnEverySmallHistory) {
  std::size_t good = 0, bad = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    const History history = Small(seed).history();
    const bool expected = brute::is_linearizable(history);
    const Verdict verdict = check(history, {5'000'000, 120, false});
    if (expected) {
      ASSERT_EQ(check(history).outcome, Outcome::kLinearizable) << "seed " << seed;
    }
    ASSERT_NE(verdict.outcome, Outcome::kUndecided) << "seed " << seed;
    ASSERT_EQ(verdict.outcome == Outcome::kLinearizable, expected)
        << "seed " << seed << "\n"
        << to_text(history) << verdict.why;
    ++(expected ? good : bad);
  }
  EXPECT_GT(good, 1000U);
  EXPECT_GT(bad, 1000U);
  std::printf("%zu linearizable, %zu not\n", good, bad);
}

}  // namespace
}  // namespace lockkeeper::linear
