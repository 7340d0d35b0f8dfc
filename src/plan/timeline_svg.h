// A picture of who works when: one row for each agent, bars for work and thin ones for waiting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockkeeper::plan {

struct Bar {
  enum class Kind { kWork, kCritical, kWaiting, kFailed, kStopped };
  std::size_t row = 0;
  std::int64_t begin_ms = 0;  // from the beginning of the picture
  std::int64_t end_ms = 0;
  Kind kind = Kind::kWork;
  std::string label;  // drawn inside where it fits
  std::string hover;  // the whole story, shown by a browser
};

struct TimelinePicture {
  std::string title;
  std::string subtitle;
  std::vector<std::string> rows;  // names, top to bottom
  std::vector<Bar> bars;
};

// A complete SVG document that stands alone: no script, no font or image from elsewhere, readable
// on light and dark pages. Every text is escaped. Beyond kRowsDrawn rows the rest is counted in a
// last line.
inline constexpr std::size_t kRowsDrawn = 400;
std::string timeline_svg(const TimelinePicture& picture);

// Text for XML: markup escaped, what XML forbids replaced.
std::string xml_escape(std::string_view text);

}  // namespace lockkeeper::plan
