// JSON with comments and trailing commas, edited by position: what an edit does not name keeps
// every byte, with its comments, order and spaces. A byte order mark, CRLF, tabs and a missing last
// newline stay as they are.
//
// Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace lockkeeper::install {

struct JsoncNode {
  enum class Kind : std::uint8_t { kObject, kArray, kString, kOther };
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  Kind kind = Kind::kOther;
  std::size_t begin = 0;  // of the value
  std::size_t end = 0;    // after its last byte
  std::size_t start = 0;  // of the key; in an array, of the value
  std::size_t comma = kNone;
  std::string key;  // of a member
  std::vector<JsoncNode> children;

  bool is_object() const { return kind == Kind::kObject; }
  bool is_array() const { return kind == Kind::kArray; }
  const JsoncNode* find(std::string_view member) const;  // null: none
};

// Members by their keys, elements by their numbers.
using JsoncStep = std::variant<std::string, std::size_t>;
using JsoncPath = std::vector<JsoncStep>;
// "hooks.PreToolUse[0]", for messages.
std::string shown_path(const JsoncPath& path);

class Jsonc {
 public:
  static constexpr std::size_t kDepthMax = 100;

  // invalid_config, as "FILE:LINE:COLUMN: …": not such a document, or a key is there twice.
  static Result<Jsonc> parse(std::string text, std::string file);

  const std::string& text() const { return text_; }
  const std::string& file() const { return file_; }
  const JsoncNode& root() const { return root_; }
  const JsoncNode* find(const JsoncPath& path) const;  // null: none
  Json value(const JsoncNode& node) const;

  // These change the text, or fail and change nothing. invalid_config: what is on the way is not an
  // object (or not an array), so there is no place for the value.

  // Replaces the value, or adds it as the last member. Creates the objects on the way.
  Result<void> set(const JsoncPath& path, const Json& value);
  // Adds the last element of an array. Creates the array and the objects on the way.
  Result<void> append(const JsoncPath& path, const Json& value);
  // Takes out a member or an element, with its comma. False: there is none.
  Result<bool> remove(const JsoncPath& path);

 private:
  struct Cut {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string put;
  };

  Jsonc(std::string text, std::string file, JsoncNode root)
      : text_(std::move(text)), file_(std::move(file)), root_(std::move(root)) {}
  Result<void> rewrite(std::vector<Cut> cuts);
  std::unexpected<Error> no_place(const JsoncNode& node, const JsoncPath& path,
                                  std::string_view wanted) const;
  Result<void> add(const JsoncNode& into, const std::string* key, const Json& value);
  std::vector<Cut> add_first(const JsoncNode& into, const std::string* key,
                             const Json& value) const;
  std::vector<Cut> add_last(const JsoncNode& into, const std::string* key, const Json& value) const;
  std::vector<Cut> cuts_for(const JsoncNode& from, std::size_t index) const;

  std::string newline() const;
  std::string unit() const;  // one level of indentation
  bool is_one_line() const;  // the whole document
  bool is_multiline(const JsoncNode& node) const;
  bool starts_line(std::size_t at) const;
  std::string margin(std::size_t at) const;  // the indentation of its line
  std::string member(const std::string* key, const Json& value, const std::string& margin,
                     bool lines) const;
  std::size_t after_comments_of_line(std::size_t at) const;

  std::string text_;
  std::string file_;
  JsoncNode root_;
};

// "LINE:COLUMN" from 1; columns count characters.
std::string shown_place(std::string_view text, std::size_t at);

}  // namespace lockkeeper::install
