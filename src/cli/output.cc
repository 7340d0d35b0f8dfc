#include "cli/output.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/char_width.h"
#include "base/text.h"
#include "key/unicode.h"

namespace lockkeeper::cli {
namespace {

// Bytes of the character at the front of `text`.
std::size_t character_size(std::string_view text) {
  std::size_t size = 1;
  while (size < text.size() && is_utf8_continuation(text[size])) ++size;
  return size;
}

// In the order of Style.
constexpr std::string_view kEscapeCodes[] = {"",         "\x1b[1m",  "\x1b[2m",
                                             "\x1b[31m", "\x1b[32m", "\x1b[33m"};
static_assert(std::size(kEscapeCodes) == static_cast<std::size_t>(Style::kYellow) + 1);

// The columns of one character at a terminal. Invalid bytes count one column each.
std::size_t width_of(std::string_view character) {
  if (character.size() == 1 || !is_valid_utf8(character)) return character.size();
  const char32_t c = key::take_code_point(character);
  return has_no_width(c) ? 0 : is_wide(c) ? 2 : 1;
}

void write(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);  // flush() reports errors
}

}  // namespace

std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    columns += width_of(text.substr(0, size));
    text.remove_prefix(size);
  }
  return columns;
}

std::string cut(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  std::string out;
  for (std::size_t taken = 0; columns > 0;) {
    const std::size_t size = character_size(text);
    taken += width_of(text.substr(0, size));
    if (taken + 1 > columns) break;  // the last one is for the "…"
    out += text.substr(0, size);
    text.remove_prefix(size);
  }
  return out + (columns > 0 ? "…" : "");
}

std::string padded(std::string text, std::size_t columns) {
  if (width(text) < columns) text.append(columns - width(text), ' ');
  return text;
}

std::string wrap(std::string_view text, std::size_t columns) {
  constexpr std::string_view kIndent = "  ";
  if (columns <= kIndent.size()) return std::string(text);
  std::string out;
  std::size_t at = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (at > 0 && at + 1 + width(word) > columns) {
      out += "\n";
      out += kIndent;
      at = kIndent.size();
    } else if (at > 0) {
      out += ' ';
      ++at;
    }
    out += word;
    at += width(word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Line fit(Line line, std::size_t columns) {
  if (columns == 0) return line;
  Line fitted;
  std::size_t left = columns;
  for (std::size_t i = 0; i < line.size() && left > 0; ++i) {
    line[i].text = printable(line[i].text);
    const bool last = i + 1 == line.size();
    // A cut line ends in "…", even if the cut falls between two spans.
    const std::size_t wanted = width(line[i].text) + (last ? 0 : 1);
    const bool whole = wanted <= left;
    if (!whole) line[i].text = cut(line[i].text + "x", left);
    left -= width(line[i].text);
    fitted.push_back(std::move(line[i]));
    if (!whole) break;
  }
  return fitted;
}

void Output::object(const service::Json& json) {
  if (options_.json) data(json);
}

void Output::data(const service::Json& json) {
  write(options_.out, service::dump(json) + "\n");
}

void Output::text(std::string_view text) {
  if (options_.json || options_.quiet) return;
  write(options_.out, printable(text, true) + "\n");
}

void Output::line(const Line& line) {
  if (options_.json || options_.quiet) return;
  std::string out;
  for (const Span& span : line) {
    const bool styled = span.style != Style::kPlain && options_.out_is_terminal && options_.color;
    if (styled) out += kEscapeCodes[static_cast<std::size_t>(span.style)];
    out += printable(span.text);
    if (styled) out += "\x1b[0m";
  }
  if (!line.empty() && line.back().style == Style::kPlain) {
    out.erase(out.find_last_not_of(' ') + 1);
  }
  write(options_.out, out + "\n");
}

void Output::message(std::string_view start, std::string_view text) {
  const std::size_t columns = options_.err_is_terminal ? options_.columns : 0;
  write(options_.err, wrap(std::string(start) + printable(text, true), columns) + "\n");
}

void Output::note(std::string_view text) {
  if (!options_.quiet) message("lockkeeper: ", text);
}

void Output::warning(std::string_view text) {
  if (!options_.quiet) message("lockkeeper: warning: ", text);
}

int Output::failed(const Error& error) {
  return failed(error, service::Json::object());
}

int Output::failed(const Error& error, service::Json reply) {
  const bool expected = error.code == Code::kHeld || error.code == Code::kTimeout;
  std::fflush(options_.out);  // in a common pipe the reason comes last
  if (options_.json) {
    reply["error"] = service::error_json(error);
    object(reply);
  } else if (!options_.quiet || !expected) {
    message("lockkeeper: ", error.message);
    // Never broken: the command in it is there to be copied.
    if (!options_.quiet && !error.hint.empty()) {
      write(options_.err, "  hint: " + printable(error.hint) + "\n");
    }
  }
  return exit_status(error.code);
}

bool Output::flush() {
  const bool clean = std::fflush(options_.out) == 0 && std::ferror(options_.out) == 0;
  std::fflush(options_.err);
  return clean;
}

}  // namespace lockkeeper::cli
