// HTTP/1.1 messages as plain values: a complete request, and the text of an answer.
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
  Headers headers;  // as received; values without surrounding spaces
  std::string body;
  bool sender_gone = false;  // before anybody has looked at it

  // The first value of that header, ignoring case; nullptr if there is none.
  const std::string* header(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  // The target without its query.
  std::string_view path() const;
};

// ASCII letters only, as everywhere in HTTP.
bool same_ignoring_case(std::string_view a, std::string_view b);
std::string_view trimmed(std::string_view text);
// The type of "text/event-stream;q=0.9".
std::string_view media_type(std::string_view value);
// Does the Content-Type say JSON?
bool is_json(const Request& request);

// "Not Found"; "Unknown" for a status that we never send.
std::string_view reason_of(int status);

// How the end of a body is marked.
struct Framing {
  bool keep_alive = true;  // more requests may follow
  bool chunked = false;    // its length is not known yet
  std::optional<std::size_t> length;
};

// The first line, the headers and the blank line. A line break in a header's value becomes a space,
// so that nobody can inject headers.
std::string head_of(int status, const Headers& headers, const Framing& framing,
                    std::int64_t now_seconds);

// One chunk of a chunked body; nothing for empty text, because that would end the body.
std::string chunk_of(std::string_view text);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(std::int64_t seconds);

}  // namespace lockkeeper::http
