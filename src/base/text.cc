#include "base/text.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"

namespace lockkeeper {
namespace {

// No name of ours is longer; it also bounds the quadratic distance.
constexpr std::size_t kLongestWord = 64;

struct Utf8Form {
  unsigned char lead_first, lead_last;      // range of the first byte
  unsigned char second_first, second_last;  // range of the second, which rules out overlong forms
  std::size_t size;
};

// Table 3-7 of the Unicode standard, "well-formed UTF-8 byte sequences".
constexpr Utf8Form kForms[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

unsigned char byte_at(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

// "%2F" of '/'.
std::string code_of(char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  return {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
}

// Optimal string alignment: insert, delete, replace, swap neighbours; each costs one.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool equal = ascii_lower(a[i - 1]) == ascii_lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (equal ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && ascii_lower(a[i - 1]) == ascii_lower(b[j - 2]) &&
                           ascii_lower(a[i - 2]) == ascii_lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::size_t utf8_size(std::string_view text) {
  LOCKKEEPER_ASSERT(!text.empty());
  const unsigned char lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  for (const Utf8Form& form : kForms) {
    if (lead < form.lead_first || lead > form.lead_last) continue;
    if (text.size() < form.size) return 0;
    const unsigned char second = byte_at(text, 1);
    if (second < form.second_first || second > form.second_last) return 0;
    for (std::size_t i = 2; i < form.size; ++i) {
      if (!is_utf8_continuation(text[i])) return 0;
    }
    return form.size;
  }
  return 0;
}

char32_t utf8_value(std::string_view character) {
  const unsigned char lead = byte_at(character, 0);
  if (character.size() == 1) return lead;
  char32_t value = lead & (0x7FU >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) {
    value = value << 6U | (byte_at(character, i) & 0x3FU);
  }
  return value;
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::size_t character_size(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && is_utf8_continuation(text[size])) ++size;
  return size;
}

std::string cut_utf8(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && is_utf8_continuation(text[bytes])) --bytes;
  return std::string(text.substr(0, bytes));
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), ascii_lower);
  return out;
}

std::string join(std::span<const std::string> words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != words.data()) text += between;
    text += word;
  }
  return text;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text.append(one);
  return many.empty() ? text.append(one) + "s" : text.append(many);
}

bool matches_text(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, resume = 0;  // the last `*`, and where it may grow
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == '?') {
      t += character_size(text.substr(t));
      ++p;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      resume += character_size(text.substr(resume));
      t = resume;
      p = star + 1;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string escape_sign(std::string_view text, char sign) {
  std::string out;
  for (const char c : text) {
    out += c == '%' || c == sign ? code_of(c) : std::string(1, c);
  }
  return out;
}

std::string unescape_sign(std::string_view text, char sign) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view code = text.substr(i, 3);
    const bool is_sign = code == code_of(sign);
    out += is_sign ? sign : text[i];
    if (is_sign || code == code_of('%')) i += 2;
  }
  return out;
}

std::string shell_quote(std::string_view text) {
  LOCKKEEPER_ASSERT(text.find('\0') == std::string_view::npos);
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,-";
  // `=` is safe inside a flag; elsewhere a shell may take the word for an assignment or a command.
  const std::string_view rest = text.starts_with("--") ? "=" : "";
  const auto odd = [&](char c) {
    return kSafe.find(c) == std::string_view::npos && rest.find(c) == std::string_view::npos;
  };
  if (!text.empty() && std::ranges::none_of(text, odd)) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out += '\'';
}

std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongestWord) continue;
    const std::size_t distance = edit_distance(word, candidate);
    const std::size_t allowed = std::max<std::size_t>(1, candidate.size() / 3);
    // A word of one letter is one edit away from every other one, so that means nothing.
    if (distance > allowed || distance >= std::max(word.size(), candidate.size())) continue;
    if (best && distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace lockkeeper
