#include "base/quote.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"

namespace lockkeeper {
namespace {

struct Range {
  char32_t first, last;
};

// Default_Ignorable_Code_Point of Unicode 16, controls, separators and annotations.
constexpr Range kHidden[] = {
    {0x0000, 0x001F},   {0x007F, 0x009F}, {0x00AD, 0x00AD}, {0x034F, 0x034F},   {0x061C, 0x061C},
    {0x115F, 0x1160},   {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F},   {0x3164, 0x3164}, {0xD800, 0xDFFF}, {0xFDD0, 0xFDEF},   {0xFE00, 0xFE0F},
    {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
    {0xE0000, 0xE0FFF},
};
constexpr Range kBlanks[] = {{0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                             {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};

constexpr std::string_view kEmojiForm = "\ufe0f";

template <std::size_t N>
bool is_in(const Range (&ranges)[N], char32_t c) {
  return std::ranges::any_of(
      ranges, [c](const Range& range) { return c >= range.first && c <= range.last; });
}

std::string hexadecimal(char32_t c) {
  char digits[8];
  const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<unsigned>(c), 16);
  return {digits, end.ptr};
}

// One character, which is taken from the front of `text`: as it is, or escaped.
std::string take_escaped(std::string_view& text) {
  const std::size_t size = utf8_size(text);
  const std::string_view character = text.substr(0, std::max<std::size_t>(size, 1));
  text.remove_prefix(character.size());
  if (size > 0 && !is_hidden(utf8_value(character))) return std::string(character);
  if (size > 0 && utf8_value(character) >= 0xA0) {
    return "\\u{" + hexadecimal(utf8_value(character)) + "}";
  }
  std::string out;
  for (const char byte : character) out += "\\x" + to_hex(std::string_view(&byte, 1));
  return out;
}

// One word that cannot be taken for more than a name.
bool is_plain_word(std::string_view name) {
  constexpr std::string_view kMarks = "\"\\'`,;";
  // "held by nobody", "nothing is not held by you"
  constexpr std::string_view kOurs[] = {"everybody", "everything", "nobody", "nothing", "you"};
  if (name.empty() || hidden_in(name) || std::ranges::find(kOurs, name) != std::end(kOurs)) {
    return false;
  }
  while (!name.empty()) {
    const std::string_view character = name.substr(0, utf8_size(name));
    if (kMarks.contains(character.front()) || is_in(kBlanks, utf8_value(character))) return false;
    name.remove_prefix(character.size());
  }
  return true;
}

}  // namespace

bool is_hidden(char32_t c) {
  return is_in(kHidden, c) || (c & 0xFFFE) == 0xFFFE;  // the last two of each plane
}

std::optional<std::string> hidden_in(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    if (size == 0) return "the byte 0x" + to_hex(text.substr(0, 1)) + ", which is not UTF-8";
    const char32_t c = utf8_value(text.substr(0, size));
    if (is_hidden(c)) {
      std::string digits = hexadecimal(c);
      std::ranges::transform(digits, digits.begin(),
                             [](char d) { return static_cast<char>(d >= 'a' ? d - 32 : d); });
      if (digits.size() < 4) digits.insert(0, 4 - digits.size(), '0');
      return "the hidden character U+" + digits;
    }
    text.remove_prefix(size);
  }
  return std::nullopt;
}

std::string quote(std::string_view text, std::size_t limit) {
  std::string out = "\"";
  while (!text.empty()) {
    const bool marked = text.front() == '"' || text.front() == '\\';
    const std::string next = (marked ? "\\" : "") + take_escaped(text);
    if (out.size() - 1 + next.size() > limit) {
      out += "…";
      break;
    }
    out += next;
  }
  return out += '"';
}

std::string shown(std::string_view name, std::size_t limit) {
  return name.size() <= limit && is_plain_word(name) ? std::string(name) : quote(name, limit);
}

std::string shown_list(std::span<const std::string> names, std::size_t most) {
  std::vector<std::string> each;
  for (const std::string& name : names.first(std::min(most, names.size()))) {
    each.push_back(shown(name));
  }
  std::string text = join(each, ", ");
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

std::string escaped(std::string_view text, bool lines) {
  std::string out;
  while (!text.empty()) {
    if (lines && text.front() == '\n') {
      out += '\n';
      text.remove_prefix(1);
    } else {
      const std::string character = take_escaped(text);
      out += character;
      // The sign before it becomes an emoji ("⚠️"). One of them shows; more would hide something.
      const bool sign = static_cast<unsigned char>(character.front()) >= 0xE2;
      if (sign && text.starts_with(kEmojiForm)) {
        out += kEmojiForm;
        text.remove_prefix(kEmojiForm.size());
      }
    }
  }
  return out;
}

}  // namespace lockkeeper
