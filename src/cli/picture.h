// Lines at a terminal that are drawn again and again, without flicker: one write, and only of the
// lines that have changed.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"

namespace lockkeeper::cli {

struct ScreenSize {
  std::size_t columns = 80;
  std::size_t rows = 24;
  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};
// Of the terminal now; what is not known as `out` has it, or 80 by 24.
ScreenSize screen_size(const Output& out);

class Picture {
 public:
  enum class Where {
    kBelow,  // below what was printed before; the cursor stands below the picture
    kWhole,  // from the upper left corner
  };

  // `out` must outlive it.
  Picture(Output& out, Where where) : out_(out), where_(where) {}

  // Each line must fit the screen.
  void draw(const std::vector<Line>& lines);
  // Removes it; what was printed above it stays.
  void clear();
  // Somebody else has written: the next draw writes every line. kBelow: the cursor stands this many
  // lines lower.
  void disturbed(std::size_t lower = 0);

 private:
  void draw_below(const std::vector<std::string>& lines, std::string& text) const;
  void draw_whole(const std::vector<std::string>& lines, std::string& text) const;

  Output& out_;
  const Where where_;
  std::vector<std::string> shown_;
  std::size_t lower_ = 0;
  bool fresh_ = true;
};

}  // namespace lockkeeper::cli
