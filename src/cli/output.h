// Where a verb prints: data on stdout, messages on stderr, one JSON object per line with --json.
//
// Every line passes through here, so hidden characters in foreign text (names, reasons, paths)
// always reach a terminal escaped. What another agent wrote is quoted besides (base/quote.h).
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "service/report.h"

namespace lockkeeper::cli {

// Hidden characters and bytes that are not UTF-8 escaped; '\n' stays if `lines`.
inline std::string printable(std::string_view text, bool lines = false) {
  return escaped(text, lines);
}

// How many columns the text takes at a terminal: two for a wide character, none for an accent.
std::size_t width(std::string_view text);

// As many characters of the front as fit into `columns`.
std::string_view front_of(std::string_view text, std::size_t columns);

// At most `columns` wide; what was cut ends in "…".
std::string cut(std::string_view text, std::size_t columns);

// The same with the "…" in the middle: of a path, the end says most.
std::string cut_middle(std::string_view text, std::size_t columns);

// Filled with spaces up to `columns`.
std::string padded(std::string text, std::size_t columns);

// Each line wrapped between words, its later lines indented by two more; 0: unchanged. A command of
// ours is never broken, so that it can be pasted: if it does not fit, it has a line of its own.
std::string wrap(std::string_view text, std::size_t columns);

enum class Style { kPlain, kBold, kDim, kRed, kGreen, kYellow, kChosen };

struct Span {
  std::string text;
  Style style = Style::kPlain;
};
using Line = std::vector<Span>;

// Cut to that many columns; 0: unchanged.
Line fit(Line line, std::size_t columns);

struct OutputOptions {
  std::FILE* out = nullptr;
  std::FILE* err = nullptr;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  bool color = false;       // false with NO_COLOR or TERM=dumb
  bool draws = false;       // the cursor can be moved; false with TERM=dumb
  std::size_t columns = 0;  // of the terminal; 0: do not fit
  bool json = false;
  bool quiet = false;
};

class Output {
 public:
  explicit Output(OutputOptions options) : options_(options) {}

  bool json() const { return options_.json; }
  bool quiet() const { return options_.quiet; }
  // Of stdout; 0 if it is not a terminal, so that lines are not cut.
  std::size_t columns() const { return options_.out_is_terminal ? options_.columns : 0; }
  const OutputOptions& options() const { return options_; }

  // One line of data: the object with --json.
  void object(const service::Json& json);
  // One JSON object that was requested by a flag other than --json.
  void data(const service::Json& json);
  // Data for people: nothing with --json or --quiet. `text` may have several lines.
  void text(std::string_view text);
  // The same for sentences: wrapped at a terminal.
  void prose(std::string_view text);
  // What --help shows, also with --quiet; with --json an object.
  void help(std::string_view text);
  // One line, styled if stdout is a terminal with colours.
  void line(const Line& line);
  // What line() prints, without the line break.
  std::string styled(const Line& line) const;
  // A message on stderr, "lockkeeper: …"; nothing with --quiet.
  void note(std::string_view text);
  void warning(std::string_view text);

  // The end of a verb that failed or was refused: JSON `reply` (or only the error) on stdout, or
  // message and hint on stderr. Returns the exit status of the code. An expected refusal (held,
  // timeout) prints nothing with --quiet, and a hint nothing if the message has said it.
  int failed(const Error& error);
  int failed(const Error& error, service::Json reply);

  // False if stdout could not be written, for example on a full disk.
  bool flush();

 private:
  void message(std::string_view start, std::string_view text);

  OutputOptions options_;
};

}  // namespace lockkeeper::cli
