// A picture of who works when: one row for each agent, bars for work, thin bars for waiting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/svg_text.h"

namespace lockkeeper::draw {

struct Bar {
  enum class Kind { kWork, kCritical, kWaiting, kFailed, kStopped };
  std::size_t row = 0;
  std::int64_t begin_ms = 0;  // from the beginning of the picture
  std::int64_t end_ms = 0;
  Kind kind = Kind::kWork;
  std::string label;  // inside the bar if it fits, or beside it
  std::string hover;  // the tooltip
};

struct TimelinePicture {
  std::string title;
  std::string subtitle;
  std::vector<std::string> rows;  // names, top to bottom
  std::vector<Bar> bars;
};

// A complete SVG document without scripts, external fonts or images, for light and dark pages. All
// text is escaped. Rows beyond kRowsDrawn are only counted. What lies before time 0 is cut off; a
// bar that ends before it begins is drawn short.
inline constexpr std::size_t kRowsDrawn = 400;
std::string timeline_svg(const TimelinePicture& picture);

}  // namespace lockkeeper::draw
