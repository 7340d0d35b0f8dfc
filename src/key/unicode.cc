#include "key/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "base/assert.h"
#include "base/text.h"

namespace lockkeeper::key {

namespace {

constexpr std::size_t kQuotedBytesMax = 120;

struct FreeDeleter {
  void operator()(void* p) const { std::free(p); }
};

// Reads one code point; negative if the bytes are not UTF-8. `length` is what to skip.
utf8proc_int32_t read_code_point(std::string_view text, std::size_t& length) {
  utf8proc_int32_t code_point = -1;
  const auto taken = utf8proc_iterate(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size(), 4)), &code_point);
  length = taken > 0 ? static_cast<std::size_t>(taken) : 1;
  return taken > 0 ? code_point : -1;
}

}  // namespace

std::optional<std::string> normal_form(std::string_view text, bool composed) {
  const auto form = composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  utf8proc_uint8_t* mapped = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                 static_cast<utf8proc_ssize_t>(text.size()), &mapped,
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | form));
  const std::unique_ptr<utf8proc_uint8_t, FreeDeleter> owner(mapped);
  if (size < 0) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size));
}

Result<std::string> nfc(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  if (auto composed = normal_form(text, true)) return *std::move(composed);
  return fail(Code::kInvalidResource, in_quotes(text) + " is not UTF-8 text",
              "give the name in UTF-8");
}

char32_t fold(char32_t code_point) {
  if (code_point < 0x80) {
    return code_point >= U'A' && code_point <= U'Z' ? code_point + 32 : code_point;
  }
  std::array<utf8proc_int32_t, 16> folded{};
  int boundary = 0;
  const auto count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), folded.data(),
                              folded.size(), UTF8PROC_CASEFOLD, &boundary);
  if (count == 1) return static_cast<char32_t>(folded[0]);
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point)));
}

std::string fold_text(std::string_view nfc_text) {
  std::string folded;
  folded.reserve(nfc_text.size());
  while (!nfc_text.empty()) append_utf8(folded, fold(take_code_point(nfc_text)));
  auto again = nfc(folded);
  LOCKKEEPER_ASSERT(again.has_value());
  return *std::move(again);
}

char32_t take_code_point(std::string_view& text) {
  LOCKKEEPER_ASSERT(!text.empty());
  if (static_cast<unsigned char>(text.front()) < 0x80) {
    const auto ascii = static_cast<char32_t>(text.front());
    text.remove_prefix(1);
    return ascii;
  }
  std::size_t length = 0;
  const auto code_point = read_code_point(text, length);
  LOCKKEEPER_ASSERT(code_point >= 0);
  text.remove_prefix(length);
  return static_cast<char32_t>(code_point);
}

void append_utf8(std::string& to, char32_t code_point) {
  if (code_point < 0x80) {
    to.push_back(static_cast<char>(code_point));
    return;
  }
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), bytes.data());
  to.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count));
}

bool is_control(char32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0) || code_point == 0x2028 ||
         code_point == 0x2029;
}

bool is_blank(char32_t code_point) {
  if (code_point < 0x80) return code_point == U' ' || code_point == U'\t';
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point)) == UTF8PROC_CATEGORY_ZS;
}

std::string_view trim_end(std::string_view text) {
  std::size_t end = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const bool blank = is_blank(take_code_point(rest));
    if (!blank) end = text.size() - rest.size();
  }
  return text.substr(0, end);
}

std::string in_quotes(std::string_view text) {
  std::string out = "'";
  const std::size_t whole = text.size();
  std::size_t shown = 0;
  while (shown < whole && shown < kQuotedBytesMax) {
    const std::size_t length = std::max<std::size_t>(1, utf8_size(text.substr(shown)));
    out += escaped(text.substr(shown, length));
    shown += length;
  }
  if (shown < whole)
    out.append("…' (").append(std::to_string(whole)).append(" bytes)");
  else
    out.push_back('\'');
  return out;
}

}  // namespace lockkeeper::key
