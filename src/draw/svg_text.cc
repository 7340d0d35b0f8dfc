#include "draw/svg_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/char_width.h"
#include "base/text.h"
#include "key/unicode.h"

namespace lockkeeper::draw {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// The next code point; U+FFFD for an invalid byte.
char32_t take(std::string_view& text) {
  const std::size_t bytes = utf8_size(text);
  if (bytes == 0) {
    text.remove_prefix(1);
    return kReplacement;
  }
  return key::take_code_point(text);
}

bool allowed_in_xml(char32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  return c != 0xFFFE && c != 0xFFFF;
}

bool steers_direction(char32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F;
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
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\r':
        out += "&#13;";
        break;
      default:
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
    } else if (key::is_control(c) || steers_direction(c) || !allowed_in_xml(c)) {
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

}  // namespace lockkeeper::draw
