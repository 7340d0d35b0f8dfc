// What the fuzz targets share: an input that is taken apart from the front, and a check whose
// failure the fuzzer takes for a crash. A target is one file that defines run().
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::fuzz {

// Gives zeros and empty texts when it is used up.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t byte();
  std::uint16_t two_bytes();
  std::uint64_t number();  // eight bytes
  std::string_view take(std::size_t count);
  std::string_view line();  // up to a '\n', which is taken and left out
  std::string_view rest() { return take(rest_.size()); }

 private:
  std::string_view rest_;
};

// The target: must come back, whatever the input.
void run(Input input);

// Ends the run, saying what is wrong, unless it holds.
void require(bool holds, std::string_view what,
             std::source_location where = std::source_location::current());

// What every refusal owes: words, in UTF-8, without control characters.
void require_readable(const Error& error,
                      std::source_location where = std::source_location::current());

// A folder of this process, in memory where there is such a place; removed at the end.
const std::string& scratch();

// Replaces the file's content.
void write_file(const std::string& path, std::string_view content);

}  // namespace lockkeeper::fuzz
