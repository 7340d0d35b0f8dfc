#include "key/path.h"

#include <algorithm>

#include "key/resource.h"
#include "key/unicode.h"

namespace lockkeeper::key {

std::unexpected<Error> refuse(std::string_view value, std::string_view rule,
                              std::string_view corrected) {
  std::string message = in_quotes(value) + ": " + std::string(rule);
  std::string hint = "see 'lockkeeper acquire --help' for what can be named";
  if (!corrected.empty()) {
    message += "; write " + in_quotes(corrected);
    hint = "use " + in_quotes(corrected);
  }
  return fail(Code::kInvalidResource, std::move(message), std::move(hint));
}

Result<void> check_path_text(std::string_view text, std::string_view prefix) {
  const auto full = [&](std::string_view rest) { return std::string(prefix) + std::string(rest); };
  if (text.empty()) {
    return fail(Code::kInvalidResource, "'' is empty: a resource needs a name",
                "name a path such as 'src/a.py', or './' for everything");
  }
  for (std::string_view rest = text; !rest.empty();) {
    if (!is_control(take_code_point(rest))) continue;
    return fail(Code::kInvalidResource,
                in_quotes(full(text)) + ": a name cannot contain a control character",
                "lock its folder, or rename it");
  }
  if (text.front() == '/') {
    std::string_view relative = text;
    while (relative.starts_with('/')) relative.remove_prefix(1);
    return refuse(full(text), "a path is relative to the realm's root and has no '/' in front",
                  full(relative.empty() ? "./" : relative));
  }
  std::string_view end = text;
  while (end.ends_with('/')) end.remove_suffix(1);
  const std::string_view trimmed = trim_end(end);
  if (trimmed.size() != end.size()) {
    const std::string corrected =
        std::string(trimmed) + (end.size() != text.size() && !trimmed.empty() ? "/" : "");
    return refuse(full(text), "a path does not end in a blank", full(corrected));
  }
  return {};
}

Result<void> check_segment_length(std::string_view segment, std::string_view whole) {
  if (segment.size() <= kSegmentBytesMax) return {};
  return fail(Code::kLimitExceeded,
              in_quotes(whole) + ": one name in a path has at most " +
                  std::to_string(kSegmentBytesMax) + " bytes; this one has " +
                  std::to_string(segment.size()),
              "shorten " + in_quotes(segment));
}

Result<CleanPath> clean_path(std::string_view text, std::string_view prefix) {
  const auto whole = [&] { return std::string(prefix) + std::string(text); };
  if (text.find('\\') != std::string_view::npos) {
    std::string corrected = whole();
    std::ranges::replace(corrected, '\\', '/');
    return refuse(whole(), "a path is written with '/', not '\\'", corrected);
  }
  CleanPath clean;
  clean.folder = text.ends_with('/');
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view segment = text.substr(begin, end - begin);
    begin = end + 1;
    const bool last = begin > text.size();
    if (segment == "." || segment == "..") clean.folder = clean.folder || last;
    if (segment.empty() || segment == ".") continue;
    if (segment == "..") {
      if (clean.segments.empty()) {
        return refuse(whole(), "'..' leaves the realm's root; only what is below it can be locked");
      }
      clean.segments.pop_back();
      continue;
    }
    if (segment.size() > kSegmentBytesMax) {
      return fail(check_segment_length(segment, whole()).error());
    }
    clean.segments.emplace_back(segment);
  }
  clean.folder = clean.folder || clean.segments.empty();
  return clean;
}

std::string path_text(const std::vector<std::string>& segments, bool folder) {
  if (segments.empty()) return "./";
  std::string text;
  if (segments.front().find(':') != std::string::npos) text = "./";
  for (const std::string& segment : segments) {
    text += segment;
    text += '/';
  }
  if (!folder) text.pop_back();
  return text;
}

std::string_view path_body(std::string_view canonical) {
  if (canonical.starts_with("./")) canonical.remove_prefix(2);
  return canonical;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace lockkeeper::key
