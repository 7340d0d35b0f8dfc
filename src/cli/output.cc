#include "cli/output.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/char_width.h"
#include "base/text.h"
#include "key/unicode.h"

namespace lockkeeper::cli {
namespace {

// In the order of Style.
constexpr std::string_view kEscapeCodes[] = {"",         "\x1b[1m",  "\x1b[2m", "\x1b[31m",
                                             "\x1b[32m", "\x1b[33m", "\x1b[7m"};
static_assert(std::size(kEscapeCodes) == static_cast<std::size_t>(Style::kChosen) + 1);

// The columns of one character at a terminal. Invalid bytes count one column each.
std::size_t width_of(std::string_view character) {
  if (character.size() == 1 || !is_valid_utf8(character)) return character.size();
  const char32_t c = key::take_code_point(character);
  return has_no_width(c) ? 0 : is_wide(c) ? 2 : 1;
}

void write(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);  // flush() reports errors
}

// As much of the end as fits.
std::string_view end_of(std::string_view text, std::size_t columns) {
  while (width(text) > columns) text.remove_prefix(character_size(text));
  return text;
}

// Bytes of the command of ours at the front, which ends at "; " or with the text; 0: there is none.
std::size_t command_size(std::string_view text) {
  constexpr std::string_view kCommand = "lockkeeper ";
  if (text.starts_with("'" + std::string(kCommand))) {
    return std::min(text.find('\'', 1), text.size() - 1) + 1;
  }
  if (!text.starts_with(kCommand)) return 0;
  bool quoted = false;  // shell_quote() quotes with '
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') quoted = !quoted;
    if (!quoted && text.substr(i).starts_with("; ")) return i;
  }
  return text.size();
}

std::string wrap_line(std::string_view text, std::size_t columns) {
  const std::size_t lead = std::min(text.find_first_not_of(' '), text.size());
  const std::string next_line = "\n" + std::string(lead + 2, ' ');
  if (columns < next_line.size() || width(text) <= columns) return std::string(text);
  std::string out(text.substr(0, lead));
  std::size_t at = lead;
  bool begun = false, alone = false;
  for (text.remove_prefix(lead); !text.empty();) {
    const std::size_t command = command_size(text);
    const std::size_t size = command > 0 ? command : std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, size);
    text.remove_prefix(size);
    const bool fits = at + (begun ? 1 : 0) + width(word) <= columns;
    if (begun && (alone || !fits)) {
      out += next_line;
      at = next_line.size() - 1;
    } else if (begun) {
      out += ' ';
      ++at;
    }
    out += word;
    at += width(word);
    begun = true;
    alone = command > 0 && !fits && !word.starts_with('\'');
    if (command > 0 && text.starts_with(';')) {
      if (!alone) out += ';';  // otherwise the end of the line says it
      text.remove_prefix(1);
    }
    if (text.starts_with(' ')) text.remove_prefix(1);
  }
  return out;
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

std::string_view front_of(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  for (std::size_t taken = 0; bytes < text.size();) {
    const std::size_t size = character_size(text.substr(bytes));
    taken += width_of(text.substr(bytes, size));
    if (taken > columns) break;
    bytes += size;
  }
  return text.substr(0, bytes);
}

std::string cut(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  return columns == 0 ? "" : std::string(front_of(text, columns - 1)) + "…";
}

std::string cut_middle(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  const std::size_t front = (columns - 1) / 3;
  return std::string(front_of(text, front)) + "…" + std::string(end_of(text, columns - 1 - front));
}

std::string padded(std::string text, std::size_t columns) {
  if (width(text) < columns) text.append(columns - width(text), ' ');
  return text;
}

std::string wrap(std::string_view text, std::size_t columns) {
  if (columns == 0) return std::string(text);
  std::string out;
  for (;;) {
    const std::size_t end = text.find('\n');
    out += wrap_line(text.substr(0, end), columns);
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
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

void Output::prose(std::string_view text) {
  if (!options_.json && !options_.quiet) {
    write(options_.out, wrap(printable(text, true), columns()) + "\n");
  }
}

void Output::help(std::string_view text) {
  if (options_.json) return data({{"help", text}});
  write(options_.out, std::string(text));
}

std::string Output::styled(const Line& line) const {
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
  return out;
}

void Output::line(const Line& line) {
  if (!options_.json && !options_.quiet) write(options_.out, styled(line) + "\n");
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
    const bool said = error.hint.starts_with("use ") &&
                      error.message.ends_with("; write " + error.hint.substr(4));
    if (!options_.quiet && !error.hint.empty() && !said) {
      message("  hint: ", printable(error.hint));
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
