// A picture of who works when: one row for each agent, bars for work and thin ones for waiting.
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
  std::string label;  // drawn inside where it fits, else beside where there is room
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
// last line. What lies before the beginning is cut off; a bar that ends before it begins is short.
inline constexpr std::size_t kRowsDrawn = 400;
std::string timeline_svg(const TimelinePicture& picture);

}  // namespace lockkeeper::draw
