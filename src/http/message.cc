#include "http/message.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace lockkeeper::http {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

void add_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) out += c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  out += "\r\n";
}

}  // namespace

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

const std::string* Request::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (same_ignoring_case(key, name)) return &value;
  }
  return nullptr;
}

std::size_t Request::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      headers, [&](const auto& each) { return same_ignoring_case(each.first, name); }));
}

std::string_view Request::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view media_type(std::string_view value) {
  return trimmed(value.substr(0, value.find(';')));
}

bool is_json(const Request& request) {
  const std::string* const type = request.header("Content-Type");
  return type != nullptr && same_ignoring_case(media_type(*type), "application/json");
}

std::string_view reason_of(int status) {
  static constexpr std::pair<int, std::string_view> kReasons[] = {
      {100, "Continue"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {505, "HTTP Version Not Supported"}};
  const auto* const found =
      std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == std::end(kReasons) ? "Unknown" : found->second;
}

std::string head_of(int status, const Headers& headers, const Framing& framing,
                    std::int64_t now_seconds) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " ";
  out += reason_of(status);
  out += "\r\n";
  add_header(out, "Date", http_date(now_seconds));
  for (const auto& [name, value] : headers) add_header(out, name, value);
  if (framing.length) add_header(out, "Content-Length", std::to_string(*framing.length));
  if (framing.chunked) add_header(out, "Transfer-Encoding", "chunked");
  if (!framing.keep_alive) add_header(out, "Connection", "close");
  out += "\r\n";
  return out;
}

std::string chunk_of(std::string_view text) {
  if (text.empty()) return {};
  char size[24];
  const int length = std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  std::string out(size, static_cast<std::size_t>(length));
  out += text;
  out += "\r\n";
  return out;
}

std::string http_date(std::int64_t seconds) {
  // Not strftime, because the names must not depend on the locale.
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const time_t time = seconds;
  tm parts{};
  ::gmtime_r(&time, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                kDays[static_cast<std::size_t>(parts.tm_wday)], parts.tm_mday,
                kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                parts.tm_hour, parts.tm_min, parts.tm_sec);
  return text;
}

}  // namespace lockkeeper::http
