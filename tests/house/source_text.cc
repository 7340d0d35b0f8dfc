#include "house/source_text.h"

#include <algorithm>
#include <cctype>

namespace lockkeeper::house {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

class Stripper {
 public:
  explicit Stripper(std::string_view text) : text_(text) {}

  std::string strip() {
    while (at_ < text_.size()) {
      if (starts("//")) {
        blank_until("\n", 0);
      } else if (starts("/*")) {
        blank_until("*/", 2);
      } else if (text_[at_] == '"' && !on_include_line()) {
        literal();
      } else if (text_[at_] == '\'' && !(at_ > 0 && is_word(text_[at_ - 1]))) {
        blank_quoted('\'');  // after a word character it separates digits
      } else {
        out_ += text_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  bool on_include_line() const {
    std::string line = out_.substr(out_.rfind('\n') + 1);  // npos + 1 is 0
    std::erase_if(line, [](char c) { return c == ' ' || c == '\t'; });
    return line.starts_with("#include");
  }

  void blank(std::size_t count) {
    for (; count > 0 && at_ < text_.size(); --count, ++at_) {
      out_ += text_[at_] == '\n' ? '\n' : ' ';
    }
  }

  // Blanks up to `end` and `beyond` characters of it.
  void blank_until(std::string_view end, std::size_t beyond) {
    const auto found = text_.find(end, at_ + 2);
    blank((found == std::string_view::npos ? text_.size() : found + beyond) - at_);
  }

  void literal() {
    if (at_ == 0 || text_[at_ - 1] != 'R') return blank_quoted('"');
    const auto open = text_.find('(', at_);
    if (open == std::string_view::npos) return blank(text_.size() - at_);
    const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const auto close = text_.find(end, open);
    blank((close == std::string_view::npos ? text_.size() : close + end.size()) - at_);
  }

  void blank_quoted(char quote) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2U : 1U;
    }
    blank(std::min(end + 1, text_.size()) - at_);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string code_only(std::string_view text) {
  return Stripper(text).strip();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(
      std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace lockkeeper::house
