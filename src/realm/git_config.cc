// The part of git's config language that we need: sections, keys, values with quotes, escapes,
// comments and continued lines (git-config(1), "Syntax").
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "realm/git_folder.h"

namespace lockkeeper::realm {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_key_char(char c) {
  return is_ascii_word(c) || c == '-';
}

std::optional<bool> as_bool(std::string_view text) {
  const std::string word = lowered(text);
  if (word.empty() || word == "false" || word == "no" || word == "off" || word == "0") return false;
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
  }

  Result<GitConfig> read() {
    while (at_ < text_.size()) {
      skip_blanks();
      if (at_ >= text_.size()) break;
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
        ++at_;
      } else if (c == '[') {
        section();
      } else if (is_key_char(c)) {
        LK_CHECK(entry());
      } else {
        skip_line();  // a comment, or something that only git may judge
      }
    }
    return std::move(config_);
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  // "[core]"; a subsection ("[core "x"]", "[core.x]") gives a name that no key of ours has.
  void section() {
    std::string name;
    bool quoted = false;
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      const char c = text_[at_];
      if (quoted && c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') {
        name += text_[++at_];
        continue;
      }
      if (c == '"') quoted = !quoted;
      if (c == ']' && !quoted) {
        ++at_;
        section_ = lowered(name);
        return;
      }
      name += c;
    }
    section_.clear();
  }

  Result<void> entry() {
    const std::size_t line = line_;
    std::string key;
    while (at_ < text_.size() && is_key_char(text_[at_])) key += ascii_lower(text_[at_++]);
    skip_blanks();
    std::optional<std::string> value;
    if (at_ < text_.size() && text_[at_] == '=') {
      ++at_;
      value = this->value();
    } else {
      skip_line();
    }
    return take(section_ + "." + key, value, line);
  }

  // Drops blanks around an unquoted value and keeps those inside; '#' or ';' begins a comment.
  std::string value() {
    std::string result;
    std::size_t keep = 0;  // blanks up to here are quoted or inside the value
    bool quoted = false;
    skip_blanks();
    for (; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      const char c = text_[at_];
      if (c == '\\') {
        if (!escape(result)) break;
        keep = result.size();
      } else if (c == '"') {
        quoted = !quoted;
        keep = result.size();
      } else if (!quoted && (c == '#' || c == ';')) {
        skip_line();
        break;
      } else {
        result += c;
        if (!is_blank(c)) keep = result.size();
      }
    }
    result.resize(keep);
    return result;
  }

  // At a backslash; leaves at_ on the escape's last character. False at the end of the text.
  bool escape(std::string& result) {
    if (++at_ >= text_.size()) return false;
    const char c = text_[at_];
    if (c == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
    if (text_[at_] == '\n') {
      ++line_;
      return true;
    }
    result += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c;
    return true;
  }

  Result<void> take(const std::string& key, const std::optional<std::string>& value,
                    std::size_t line) {
    if (key == "core.worktree") {
      if (value) config_.worktree = *value;
      return {};
    }
    if (key == "remote \"origin\".url") {
      if (value) config_.origin = *value;
      return {};
    }
    if (key == "core.sharedrepository") {
      config_.shared_repository = value.value_or("true");
      return {};
    }
    const bool wanted =
        key == "core.bare" || key == "core.ignorecase" || key == "extensions.worktreeconfig";
    if (!wanted) return {};
    const auto flag = value ? as_bool(*value) : std::optional<bool>(true);
    if (!flag) {
      return fail(Code::kInvalidConfig,
                  file_ + ":" + std::to_string(line) + ": " + key + " is " + quote(*value, 40) +
                      ", expected true or false",
                  "git config --file " + shell_quote(file_) + " " + key + " false");
    }
    if (key == "core.bare") config_.bare = flag;
    if (key == "core.ignorecase") config_.ignore_case = flag;
    if (key == "extensions.worktreeconfig") config_.worktree_config = *flag;
    return {};
  }

  const std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::string section_;
  GitConfig config_;
};

}  // namespace

Result<GitConfig> parse_git_config(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

Result<std::optional<mode_t>> shared_permissions(std::string_view value, const std::string& file) {
  const std::string word = lowered(value);
  if (word == "umask" || word == "0") return std::nullopt;
  if (word == "group" || word == "1") return mode_t{0660};
  if (word == "all" || word == "world" || word == "everybody" || word == "2") return mode_t{0664};
  if (const auto flag = as_bool(word)) return *flag ? std::optional<mode_t>(0660) : std::nullopt;
  mode_t bits = 0;
  bool octal = word.size() <= 5;
  for (const char c : word) {
    octal = octal && c >= '0' && c <= '7';
    if (octal) bits = bits * 8 + static_cast<mode_t>(c - '0');
  }
  if (octal && (bits & 0600) == 0600 && bits <= 0777) return bits & 0666;
  return fail(Code::kInvalidConfig,
              file + ": core.sharedRepository is " + quote(value, 40) +
                  ", expected umask, group, all or an octal number such as 0660",
              "git config --file " + shell_quote(file) + " core.sharedRepository group");
}

}  // namespace lockkeeper::realm
