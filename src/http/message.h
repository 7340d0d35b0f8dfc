// What HTTP/1.1 carries, as plain values: a request that was read whole, and the text of what is
// answered.
//
// Thread safety: plain values and free functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockkeeper::http {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;
  std::string target;
  Headers headers;  // as they came; the values without blanks around them
  std::string body;

  // The value of that header, whatever its case; the first of several. nullptr: there is none.
  const std::string* header(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  // The target without its query.
  std::string_view path() const;
};

// Letters of ASCII only, as everywhere in HTTP.
bool same_ignoring_case(std::string_view a, std::string_view b);
std::string_view trimmed(std::string_view text);

// "Not Found"; "Unknown" for what we never send.
std::string_view reason_of(int status);

// How the end of a body is told.
struct Framing {
  bool keep_alive = true;  // more requests may follow
  bool chunked = false;    // its length is not known yet
  std::optional<std::size_t> length;
};

// The first line and the headers with the blank line behind them. A line break in a header's value
// becomes a blank: nobody smuggles headers in.
std::string head_of(int status, const Headers& headers, const Framing& framing,
                    std::int64_t now_seconds);

// One piece of a chunked body; empty text gives nothing, because that would end it.
std::string chunk_of(std::string_view text);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::int64_t seconds);

}  // namespace lockkeeper::http
