#include <algorithm>
#include <cstdint>

#include "base/text.h"
#include "install/plan.h"

namespace lockkeeper::install {
namespace {

using Lines = std::vector<std::string_view>;

constexpr std::size_t kAround = 3;            // unchanged lines beside a change
constexpr std::size_t kCellsMax = 4'000'000;  // of the table; beyond it, all lines change

Lines lines_in(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Edit {
  char sign;  // ' ', '-' or '+'
  std::string_view line;
};

// The longest common subsequence of what differs.
void compare_middle(const Lines& a, const Lines& b, std::vector<Edit>& edits) {
  const std::size_t width = b.size() + 1;
  const bool small = (a.size() + 1) * width <= kCellsMax;
  std::vector<std::uint32_t> common(small ? (a.size() + 1) * width : 0);
  for (std::size_t i = a.size(); small && i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      common[i * width + j] =
          a[i] == b[j] ? common[(i + 1) * width + j + 1] + 1
                       : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (small && i < a.size() && j < b.size() && a[i] == b[j]) {
      edits.push_back({' ', a[i++]});
      ++j;
    } else if (i < a.size() && (!small || j == b.size() ||
                                common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      edits.push_back({'-', a[i++]});
    } else {
      edits.push_back({'+', b[j++]});
    }
  }
}

std::vector<Edit> compare(Lines a, Lines b) {
  std::vector<Edit> edits;
  std::size_t front = 0;
  while (front < a.size() && front < b.size() && a[front] == b[front]) {
    edits.push_back({' ', a[front++]});
  }
  Lines back;
  while (a.size() > front && b.size() > front && a.back() == b.back()) {
    back.push_back(a.back());
    a.pop_back();
    b.pop_back();
  }
  const auto skip = static_cast<std::ptrdiff_t>(front);
  compare_middle({a.begin() + skip, a.end()}, {b.begin() + skip, b.end()}, edits);
  for (auto line = back.rbegin(); line != back.rend(); ++line) edits.push_back({' ', *line});
  return edits;
}

std::string range(std::size_t first, std::size_t count) {
  return std::to_string(count == 0 ? first : first + 1) + "," + std::to_string(count);
}

// A settings file's tabs stay: they are as harmless as its blanks.
std::string with_tabs(std::string_view line) {
  std::string out;
  for (std::size_t tab; (tab = line.find('\t')) != std::string_view::npos;) {
    out += escaped(line.substr(0, tab)) + "\t";
    line.remove_prefix(tab + 1);
  }
  return out + escaped(line);
}

std::string shown_line(const Edit& edit, bool line_ends) {
  std::string_view line = edit.line;
  const bool ended = line.ends_with('\n');
  if (ended) line.remove_suffix(1);
  if (!line_ends && line.ends_with('\r')) line.remove_suffix(1);
  return edit.sign + with_tabs(line) + "\n" + (ended ? "" : "\\ No newline at end of file\n");
}

}  // namespace

std::string diff_of(const Change& change, bool line_ends) {
  const std::string before = change.before.value_or("");
  const std::string after = change.after.value_or("");
  const std::vector<Edit> edits = compare(lines_in(before), lines_in(after));
  std::string out = "--- " + (change.before ? escaped(change.file) : "/dev/null") + "\n+++ " +
                    (change.after ? escaped(change.file) : "/dev/null") + "\n";
  std::size_t old_line = 0;
  std::size_t new_line = 0;
  std::size_t at = 0;
  const auto is_change = [](const Edit& edit) { return edit.sign != ' '; };
  while (at < edits.size()) {
    const auto rest = edits.begin() + static_cast<std::ptrdiff_t>(at);
    const auto change_at =
        static_cast<std::size_t>(std::find_if(rest, edits.end(), is_change) - edits.begin());
    if (change_at == edits.size()) break;
    const std::size_t begin = std::max(at, change_at - std::min(change_at, kAround));
    old_line += begin - at;
    new_line += begin - at;
    // A part ends where more lines are unchanged than two parts would show.
    std::size_t end = change_at + 1;
    for (std::size_t i = end; i < edits.size() && i < end + 2 * kAround + 1; ++i) {
      if (is_change(edits[i])) end = i + 1;
    }
    end = std::min(end + kAround, edits.size());
    std::size_t removed = 0;
    std::size_t added = 0;
    std::string text;
    for (std::size_t i = begin; i < end; ++i) {
      removed += edits[i].sign != '+' ? 1U : 0U;
      added += edits[i].sign != '-' ? 1U : 0U;
      text += shown_line(edits[i], line_ends);
    }
    out += "@@ -" + range(old_line, removed) + " +" + range(new_line, added) + " @@\n" + text;
    old_line += removed;
    new_line += added;
    at = end;
  }
  return out;
}

}  // namespace lockkeeper::install
