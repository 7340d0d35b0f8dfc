#include "cli/picture.h"

#include <sys/ioctl.h>

namespace lockkeeper::cli {

ScreenSize screen_size(const Output& out) {
  ScreenSize size;
  if (out.options().columns > 0) size.columns = out.options().columns;
  winsize now{};
  if (::ioctl(::fileno(out.options().out), TIOCGWINSZ, &now) != 0) return size;
  if (now.ws_col > 0) size.columns = now.ws_col;
  if (now.ws_row > 0) size.rows = now.ws_row;
  return size;
}

void Picture::draw_below(const std::vector<std::string>& lines, std::string& text) const {
  const std::size_t up = shown_.size() + lower_;
  if (up > 0) text += "\x1b[" + std::to_string(up) + "A\r";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool same = !fresh_ && i < shown_.size() && shown_[i] == lines[i];
    text += same ? "\n" : lines[i] + "\x1b[K\n";
  }
  if (up > lines.size()) text += "\x1b[J";
}

void Picture::draw_whole(const std::vector<std::string>& lines, std::string& text) const {
  if (fresh_) text += "\x1b[2J";
  const auto go_to = [&](std::size_t row) { text += "\x1b[" + std::to_string(row + 1) + ";1H"; };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!fresh_ && i < shown_.size() && shown_[i] == lines[i]) continue;
    go_to(i);
    text += lines[i] + "\x1b[K";
  }
  if (shown_.size() > lines.size()) {
    go_to(lines.size());
    text += "\x1b[J";
  }
}

void Picture::draw(const std::vector<Line>& lines) {
  std::vector<std::string> drawn;
  drawn.reserve(lines.size());
  for (const Line& line : lines) drawn.push_back(out_.styled(line));
  std::string text;
  where_ == Where::kBelow ? draw_below(drawn, text) : draw_whole(drawn, text);
  shown_ = std::move(drawn);
  lower_ = 0;
  fresh_ = false;
  std::fwrite(text.data(), 1, text.size(), out_.options().out);
  std::fflush(out_.options().out);
}

void Picture::clear() {
  if (shown_.empty()) return;
  const std::size_t up = shown_.size() + lower_;
  const std::string text =
      where_ == Where::kBelow ? "\x1b[" + std::to_string(up) + "A\r\x1b[J" : "\x1b[2J\x1b[1;1H";
  std::fwrite(text.data(), 1, text.size(), out_.options().out);
  std::fflush(out_.options().out);
  shown_.clear();
  lower_ = 0;
  fresh_ = true;
}

void Picture::disturbed(std::size_t lower) {
  lower_ += lower;
  fresh_ = true;
}

}  // namespace lockkeeper::cli
