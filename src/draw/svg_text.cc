#include "draw/svg_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/char_width.h"
#include "base/text.h"
#include "key/unicode.h"

namespace lockkeeper::draw {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Escape {
  char32_t character;
  std::string_view text;
};
constexpr Escape kEscapes[] = {{'&', "&amp;"},  {'<', "&lt;"},   {'>', "&gt;"},
                               {'"', "&quot;"}, {'\'', "&#39;"}, {'\r', "&#13;"}};

// The next code point; U+FFFD for an invalid byte.
char32_t take(std::string_view& text) {
  if (utf8_size(text) > 0) return key::take_code_point(text);
  text.remove_prefix(1);
  return kReplacement;
}

bool allowed_in_xml(char32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  return c != 0xFFFE && c != 0xFFFF;
}

// In em.
double advance(char32_t c) {
  constexpr std::string_view kNarrow = "ijl.,;:!|'()[]ft-/ r";
  constexpr std::string_view kBroad = "mwMW@%";
  if (has_no_width(c)) return 0.1;  // so that many marks on one letter are cut, too
  if (is_wide(c)) return 1.05;
  if (c >= 0x80) return 0.75;
  const char byte = static_cast<char>(c);
  if (kNarrow.contains(byte)) return 0.42;
  if (kBroad.contains(byte)) return 0.99;
  return byte >= 'A' && byte <= 'Z' ? 0.76 : 0.64;
}

}  // namespace

std::string xml_escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const char32_t c = take(text);
    const auto* const escape = std::ranges::find(kEscapes, c, &Escape::character);
    if (escape != std::end(kEscapes)) {
      out += escape->text;
    } else {
      key::append_utf8(out, allowed_in_xml(c) ? c : kReplacement);
    }
  }
  return out;
}

std::string picture_line(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char32_t c = take(text);
    if (c == '\n' || c == '\t' || c == '\r' || c == 0x2028 || c == 0x2029) {
      out += ' ';
    } else if (is_hidden(c) || !allowed_in_xml(c)) {
      key::append_utf8(out, kReplacement);
    } else {
      key::append_utf8(out, c);
    }
  }
  return out;
}

double text_width(std::string_view line, double size) {
  double width = 0;
  while (!line.empty()) width += advance(take(line));
  return width * size;
}

std::string fit_text(std::string_view text, double size, double width) {
  std::string line = picture_line(text);
  if (text_width(line, size) <= width) return line;
  constexpr double kDots = 1.0;
  double room = width / size - kDots;
  std::string_view rest = line;
  std::size_t kept = 0;
  while (!rest.empty()) {
    room -= advance(take(rest));
    if (room < 0) break;
    kept = line.size() - rest.size();
  }
  return line.substr(0, kept) + "…";
}

std::string svg_number(double value) {
  if (!std::isfinite(value)) value = 0;
  std::array<char, 400> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 1);
  return {text.data(), end.ptr};
}

std::string svg_begin(std::string_view css, double width, double height, std::string_view title) {
  const std::string size[] = {svg_number(width), svg_number(height)};
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"" + std::string(css) +
         "\" role=\"img\" width=\"" + size[0] + "\" height=\"" + size[1] + "\" viewBox=\"0 0 " +
         size[0] + " " + size[1] + "\" aria-label=\"" + xml_escape(picture_line(title)) + "\">\n";
}

std::string svg_rectangle(std::string_view css, const Box& box, double radius) {
  return "<rect class=\"" + std::string(css) + "\" x=\"" + svg_number(box.x) + "\" y=\"" +
         svg_number(box.y) + "\" width=\"" + svg_number(box.width) + "\" height=\"" +
         svg_number(box.height) + "\"" + (radius > 0 ? " rx=\"" + svg_number(radius) + "\"" : "") +
         "/>";
}

}  // namespace lockkeeper::draw
