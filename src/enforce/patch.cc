#include "enforce/patch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace lockkeeper::enforce {
namespace {

constexpr std::size_t kPatchedFilesMax = 10'000;

// Clients trim what Unicode calls white space: "a.c" and a no-break space is "a.c" to them.
bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000 || c == 0xfeff;
}

std::string_view trim_front(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    if (size == 0 || !is_space(utf8_value(text.substr(0, size)))) break;
    text.remove_prefix(size);
  }
  return text;
}

std::string_view trim_back(std::string_view text) {
  while (!text.empty()) {
    std::size_t at = text.size() - 1;
    while (at > 0 && is_utf8_continuation(text[at])) --at;
    const std::string_view last = text.substr(at);
    if (utf8_size(last) != last.size() || !is_space(utf8_value(last))) break;
    text.remove_suffix(last.size());
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  return trim_back(trim_front(text));
}

// The word of "<<'EOF'", "<<\"EOF\"" or "<<EOF", also behind "apply_patch" or "cat"; empty: the
// line opens no heredoc.
std::string_view heredoc_word(std::string_view line) {
  line = trimmed(line);
  for (const std::string_view program : {"apply_patch", "applypatch", "cat"}) {
    if (!line.starts_with(program)) continue;
    line = trim_front(line.substr(program.size()));
    break;
  }
  if (!line.starts_with("<<")) return {};
  line = trim_front(line.substr(2));
  if (line.size() > 2 && (line.front() == '\'' || line.front() == '"')) {
    if (line.back() != line.front()) return {};
    line = line.substr(1, line.size() - 2);
  }
  for (const char c : line) {
    if (!is_ascii_word(c) && c != '_') return {};
  }
  return line;
}

class PatchReader {
 public:
  explicit PatchReader(std::string_view text) : rest_(text) {}

  Result<std::vector<PatchedFile>> read() {
    LK_CHECK(begin());
    while (!rest_.empty()) {
      const std::string_view line = next();
      if (ended_) {
        if (trimmed(line).empty() || (!word_.empty() && trimmed(line) == word_)) continue;
        return bad("stands behind '*** End Patch'", line);
      }
      LK_CHECK(take(line));
      if (files_.size() > kPatchedFilesMax) {
        return fail(Code::kLimitExceeded,
                    "the patch names more than " + std::to_string(kPatchedFilesMax) + " files",
                    "split it into smaller patches");
      }
    }
    if (files_.empty()) return bad("is its last, and no file was named", "");
    return std::move(files_);
  }

 private:
  std::string_view next() {
    ++number_;
    const std::size_t size = std::min(rest_.find('\n'), rest_.size());
    std::string_view line = rest_.substr(0, size);
    rest_.remove_prefix(std::min(size + 1, rest_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  Result<void> begin() {
    while (!rest_.empty()) {
      const std::string_view line = next();
      if (trimmed(line) == "*** Begin Patch") return {};
      if (trimmed(line).empty()) continue;
      if (word_.empty()) word_ = heredoc_word(line);
      if (word_.empty()) return bad("is not '*** Begin Patch'", line);
    }
    return bad("is its last, and none is '*** Begin Patch'", "");
  }

  // Inside an update, a line with a mark is content even if it looks like a header behind it.
  Result<void> take(std::string_view line) {
    const bool first = std::exchange(at_first_, false);
    const bool after_update_line = std::exchange(may_move_, false);
    if (trimmed(line).empty()) return {};
    if (body_ != Body::kNone && line.front() == '+') return {};
    if (body_ == Body::kUpdate) {
      if (line.front() == ' ' || line.front() == '-' || line.starts_with("@@")) return {};
      if (trimmed(line) == "*** End of File") return {};
    }
    const std::string_view header = trimmed(line);
    if (header == "*** End Patch") {
      ended_ = true;
      return {};
    }
    if (first && header.starts_with("*** Environment ID: ")) return {};
    if (header.starts_with("*** Move to:")) {
      if (!after_update_line) return bad("moves no file", line);
      return set_path(files_.back().moved_to, line, line.substr(line.find(':') + 1));
    }
    using Kind = PatchedFile::Kind;
    if (header.starts_with("*** Add File:")) return open(Kind::kAdd, line, header);
    if (header.starts_with("*** Delete File:")) return open(Kind::kDelete, line, header);
    if (header.starts_with("*** Update File:")) return open(Kind::kUpdate, line, header);
    return bad("is not a line of a patch", line);
  }

  Result<void> open(PatchedFile::Kind kind, std::string_view line, std::string_view header) {
    using Kind = PatchedFile::Kind;
    body_ = kind == Kind::kAdd ? Body::kAdd : kind == Kind::kUpdate ? Body::kUpdate : Body::kNone;
    may_move_ = kind == Kind::kUpdate;
    files_.push_back({kind, {}, {}});
    return set_path(files_.back().path, line, header.substr(header.find(':') + 1));
  }

  // One client keeps a space that another removes: such a path would mean two files.
  Result<void> set_path(std::string& path, std::string_view line, std::string_view text) {
    if (text.starts_with(' ')) text.remove_prefix(1);
    if (text.empty()) return bad("names no file", line);
    if (text != trimmed(text)) return bad("has a space before or behind its path", line);
    if (text.find('\0') != std::string_view::npos) return bad("has a NUL byte", line);
    path = text;
    return {};
  }

  std::unexpected<Error> bad(std::string_view why, std::string_view line) const {
    std::string message = "the patch cannot be read: line " + std::to_string(number_);
    if (!line.empty()) message += ", " + quote(line, 80) + ",";
    return fail(Code::kInvalidInput, message + " " + std::string(why),
                "write it as '*** Begin Patch', '*** Update File: PATH', …, '*** End Patch'");
  }

  enum class Body { kNone, kAdd, kUpdate };

  std::string_view rest_;
  std::size_t number_ = 0;
  std::string_view word_;  // of the heredoc around it
  Body body_ = Body::kNone;
  bool at_first_ = true;   // nothing was read since the beginning
  bool may_move_ = false;  // the line before opened an update
  bool ended_ = false;
  std::vector<PatchedFile> files_;
};

}  // namespace

Result<std::vector<PatchedFile>> read_patch(std::string_view text) {
  return PatchReader(text).read();
}

std::optional<std::string_view> patch_in_command(std::string_view command) {
  command = trimmed(command);
  if (!command.starts_with("apply_patch") && !command.starts_with("applypatch")) {
    return std::nullopt;
  }
  const std::size_t line_end = command.find('\n');
  if (line_end == std::string_view::npos) return std::nullopt;
  const std::string_view word = heredoc_word(command.substr(0, line_end));
  if (word.empty()) return std::nullopt;
  std::string_view body = command.substr(line_end + 1);
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = std::min(body.find('\n', at), body.size());
    if (body.substr(at, end - at) == word) {
      if (end != body.size()) return std::nullopt;  // more commands
      return body.substr(0, at);
    }
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace lockkeeper::enforce
