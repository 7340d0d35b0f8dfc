#include "draw/timeline_svg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "draw/xml_testing.h"

namespace lockkeeper::draw {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

TimelinePicture rows_of(std::size_t count) {
  TimelinePicture picture;
  picture.title = "A plan";
  for (std::size_t i = 0; i < count; ++i) picture.rows.push_back("agent-" + std::to_string(i));
  return picture;
}

Bar bar(std::size_t row, std::int64_t begin, std::int64_t end, Bar::Kind kind = Bar::Kind::kWork,
        const std::string& label = {}) {
  return {row, begin, end, kind, label, label.empty() ? "" : label + ", the whole story"};
}

XmlReader drawn(const TimelinePicture& picture) {
  XmlReader reader(timeline_svg(picture));
  EXPECT_EQ(reader.error(), "");
  return reader;
}

std::vector<std::string> texts(const XmlReader& reader, const std::string& css) {
  std::vector<std::string> found;
  for (const XmlElement& one : reader.all("text", css)) found.push_back(one.text);
  return found;
}

// Nothing sticks out of the picture, and every bar lies right of the names.
void expect_inside(const XmlReader& reader) {
  const XmlElement& root = reader.elements().front();
  const double width = root.number("width");
  const double height = root.number("height");
  for (const XmlElement& one : reader.elements()) {
    if (one.name == "rect") {
      EXPECT_GE(one.number("x"), 0);
      EXPECT_GE(one.number("y"), 0);
      EXPECT_GT(one.number("width"), 0);
      EXPECT_LE(one.number("x") + one.number("width"), width);
      EXPECT_LE(one.number("y") + one.number("height"), height);
    } else if (one.name == "text") {
      EXPECT_GE(one.number("y"), 0);
      EXPECT_LE(one.number("y"), height);
    } else if (one.name == "circle") {
      EXPECT_GE(one.number("cx") - one.number("r"), 0);
      EXPECT_LE(one.number("cx") + one.number("r"), width);
    }
  }
}

// No two texts of one height overlap.
void expect_no_overlap(const XmlReader& reader) {
  std::map<double, std::vector<std::pair<double, double>>> lines;
  for (const XmlElement& one : reader.elements()) {
    if (one.name != "text") continue;
    const double size = one.is("text", "title") ? 18 : one.is("text", "name") ? 13 : 11;
    const double width = text_width(one.text, size);
    double x = one.number("x");
    if (one.attributes.contains("text-anchor")) x -= width / 2;
    for (const auto& [begin, end] : lines[one.number("y")]) {
      EXPECT_TRUE(x >= end || x + width <= begin) << one.text;
    }
    lines[one.number("y")].emplace_back(x, x + width);
  }
}

TEST(TimelineSvg, HostileNamesStayInside) {
  TimelinePicture picture;
  const std::vector<std::string> names = {"<script>alert(1)</script>",
                                          "a\" onload=\"x",
                                          "]]>",
                                          "&lt;&#0;",
                                          std::string("nul\0l", 5),
                                          "\xff\xfe bytes",
                                          "\x1b[31mred",
                                          "line\nbreak\r\n",
                                          "\u202egnp.exe",
                                          "",
                                          "--><svg>",
                                          std::string(5000, 'W')};
  picture.title = picture.subtitle = names[0] + names[4] + names[5];
  for (std::size_t i = 0; i < names.size(); ++i) {
    picture.rows.push_back(names[i]);
    picture.bars.push_back(bar(i, 0, 5000, Bar::Kind::kWork, names[i]));
  }
  const XmlReader reader = drawn(picture);
  for (const XmlElement& one : reader.elements()) {
    EXPECT_NE(one.name, "script");
    EXPECT_FALSE(one.attributes.contains("onload"));
  }
  EXPECT_EQ(reader.all("text", "name").size(), names.size());
  expect_inside(reader);
}

TEST(TimelineSvg, StandsAlone) {
  const std::string svg = timeline_svg(rows_of(3));
  EXPECT_EQ(svg.find("href"), std::string::npos);
  EXPECT_EQ(svg.find("@import"), std::string::npos);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
}

TEST(TimelineSvg, NoBarOutsideThePictureWhateverTheTimes) {
  TimelinePicture picture = rows_of(6);
  picture.bars = {bar(0, -5000, 1000),
                  bar(0, -9, -5),
                  bar(1, 3000, 1000),
                  bar(2, kLargest - 1, kLargest),
                  bar(3, 0, kLargest),
                  bar(4, std::numeric_limits<std::int64_t>::min(), kLargest),
                  bar(5, 7, 7, Bar::Kind::kFailed),
                  bar(99, 0, 1000),
                  bar(kLargest, 0, 1000)};
  const XmlReader reader = drawn(picture);
  expect_inside(reader);
  EXPECT_EQ(reader.all("rect", "work").size(), 7U) << "six bars and the legend";
}

TEST(TimelineSvg, TheLegendNamesWhatOccurs) {
  TimelinePicture picture = rows_of(2);
  picture.bars = {bar(0, 0, 1000), bar(1, 0, 1000, Bar::Kind::kWaiting)};
  std::vector<std::string> small = texts(drawn(picture), "small");
  EXPECT_EQ(std::ranges::count(small, "at work"), 1);
  EXPECT_EQ(std::ranges::count(small, "waiting"), 1);
  EXPECT_EQ(std::ranges::count(small, "failed"), 0);
  EXPECT_EQ(std::ranges::count(small, "critical path"), 0);
}

TEST(TimelineSvg, FailedAndStoppedAreSeenWithoutColour) {
  TimelinePicture picture = rows_of(3);
  picture.bars = {bar(0, 0, 900, Bar::Kind::kFailed), bar(1, 0, 2, Bar::Kind::kFailed),
                  bar(2, 0, 900, Bar::Kind::kStopped)};
  const XmlReader reader = drawn(picture);
  EXPECT_EQ(reader.all("path", "sign").size(), 3U) << "two bars and the legend";
  EXPECT_EQ(reader.all("rect", "block").size(), 2U);
}

TEST(TimelineSvg, TicksFitTheSpan) {
  const auto ticks = [](std::int64_t span) {
    TimelinePicture picture = rows_of(1);
    picture.bars = {bar(0, 0, span)};
    std::vector<std::string> found = texts(drawn(picture), "small");
    std::erase(found, "at work");
    return found;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(ticks(1000), (Words{"0", "0.1s", "0.2s", "0.3s", "0.4s", "0.5s", "0.6s", "0.7s", "0.8s",
                                "0.9s", "1.0s"}));
  EXPECT_EQ(ticks(50).back(), "50 ms");
  EXPECT_EQ(ticks(14'000), (Words{"0", "2s", "4s", "6s", "8s", "10s", "12s", "14s"}));
  EXPECT_EQ(ticks(100'000), (Words{"0", "10s", "20s", "30s", "40s", "50s", "1m", "1m 10s", "1m 20s",
                                   "1m 30s", "1m 40s"}));
  EXPECT_EQ(ticks(75 * 60'000), (Words{"0", "10m", "20m", "30m", "40m", "50m", "1h", "1h 10m"}));
  EXPECT_EQ(ticks(5 * 3'600'000LL).back(), "5h");
  EXPECT_EQ(ticks(3 * 86'400'000LL).back(), "3d");
  for (std::int64_t span = 1; span < kLargest / 3; span = span * 2 + 1) {
    EXPECT_LE(ticks(span).size(), 11U) << span;
    EXPECT_GE(ticks(span).size(), 2U) << span;
  }
}

TEST(TimelineSvg, NothingToShowIsSaid) {
  const XmlReader reader = drawn({});
  EXPECT_EQ(texts(reader, "subtitle"), std::vector<std::string>{"Nothing to show."});
  expect_inside(reader);
}

TEST(TimelineSvg, BeyondTheLimitRowsAreCounted) {
  TimelinePicture picture = rows_of(kRowsDrawn + 17);
  for (std::size_t i = 0; i < picture.rows.size(); ++i) picture.bars.push_back(bar(i, 0, 1000));
  const XmlReader reader = drawn(picture);
  EXPECT_EQ(reader.all("text", "name").size(), kRowsDrawn);
  EXPECT_EQ(texts(reader, "subtitle"), std::vector<std::string>{"and 17 more, not drawn"});
  expect_inside(reader);
}

TEST(TimelineSvg, LabelsNeverOverlap) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  for (int round = 0; round < 60; ++round) {
    TimelinePicture picture = rows_of(static_cast<std::size_t>(1 + below(30)));
    for (std::size_t row = 0; row < picture.rows.size(); ++row) {
      picture.rows[row] = std::string(static_cast<std::size_t>(below(60)), "iWa日"[below(3)]);
      std::int64_t at = 0;
      for (int i = below(6); i > 0; --i) {
        const std::int64_t begin = at + below(20'000);
        at = begin + below(40'000);
        picture.bars.push_back(bar(row, begin, at, static_cast<Bar::Kind>(below(5)),
                                   std::string(static_cast<std::size_t>(below(20)), 'm')));
      }
    }
    const XmlReader reader = drawn(picture);
    expect_inside(reader);
    expect_no_overlap(reader);
  }
}

}  // namespace
}  // namespace lockkeeper::draw
