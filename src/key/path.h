// Paths as text: lexical cleaning and its rules. Does not ask the disk.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lockkeeper::key {

struct CleanPath {
  std::vector<std::string> segments;  // empty: the root
  bool folder = false;                // ended in '/', '.' or '..', or is the root
};

// The rules that paths and globs share: not empty, not absolute, no control character, no blank at
// the end. `text` is NFC; `prefix` ("contract:") only goes into the messages. invalid_resource with
// the corrected form.
Result<void> check_path_text(std::string_view text, std::string_view prefix = {});

// "a/./b//c/" → [a b c], folder. Refuses a backslash and ".." that leaves the root
// (invalid_resource), and a segment longer than kSegmentBytesMax (limit_exceeded).
Result<CleanPath> clean_path(std::string_view text, std::string_view prefix = {});

// invalid_resource: the value, the rule it breaks and, if there is one, the corrected form.
std::unexpected<Error> refuse(std::string_view value, std::string_view rule,
                              std::string_view corrected = {});

// limit_exceeded: a name is longer than file systems allow.
Result<void> check_segment_length(std::string_view segment, std::string_view whole);

// The canonical spelling: "./" in front if the first segment has a colon, so that it is never read
// as a logical key; "./" alone for the root; '/' at the end of a folder.
std::string path_text(const std::vector<std::string>& segments, bool folder);

// The canonical text without that "./".
std::string_view path_body(std::string_view canonical);

// "a/b/c" → [a b c]. Empty text gives no segment.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace lockkeeper::key
