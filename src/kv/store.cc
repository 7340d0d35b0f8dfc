#include "kv/store.h"

#include "base/assert.h"
#include "base/bytes.h"

namespace lockkeeper::kv {
namespace {

std::unexpected<Error> too_long(std::string_view what, std::size_t bytes, std::size_t max) {
  return fail(Code::kLimitExceeded, "a " + std::string(what) + " of " + std::to_string(bytes) +
                                        " bytes; at most " + std::to_string(max));
}

}  // namespace

Result<void> check_lengths(std::size_t key_bytes, std::size_t value_bytes) {
  if (key_bytes > kKeyBytesMax) return too_long("key", key_bytes, kKeyBytesMax);
  if (value_bytes > kValueBytesMax) return too_long("value", value_bytes, kValueBytesMax);
  return {};
}

Result<void> check_appends(std::size_t appended) {
  if (appended <= kAppendsMax) return {};
  return fail(Code::kLimitExceeded,
              "more than " + std::to_string(kAppendsMax) + " appended rows in one transaction");
}

Range prefix_range(std::string_view prefix) {
  return {std::string(prefix), end_of_prefix(prefix)};
}

std::string end_of_prefix(std::string_view prefix) {
  std::string to(prefix);
  while (!to.empty() && to.back() == '\xff') to.pop_back();
  LOCKKEEPER_ASSERT(!to.empty());
  to.back() = static_cast<char>(static_cast<unsigned char>(to.back()) + 1);
  return to;
}

std::string key_behind(std::string_view key) {
  return std::string(key).append(1, '\0');
}

std::string appended_key(std::string_view prefix, Version version, std::size_t index) {
  std::string key;
  key.reserve(prefix.size() + kAppendTailBytes);
  key.append(prefix);
  append_be64(key, version);
  key.push_back(static_cast<char>(index >> 8));
  key.push_back(static_cast<char>(index & 0xff));
  return key;
}

Appended to_appended(std::string_view prefix, const Row& row) {
  Appended appended{0, row.key, row.value, row.created};
  if (row.key.size() != prefix.size() + kAppendTailBytes) return appended;
  const std::string_view tail = row.key.substr(prefix.size());
  const auto high = static_cast<unsigned char>(tail[tail.size() - 2]);
  const auto low = static_cast<unsigned char>(tail[tail.size() - 1]);
  appended.number = read_be64(tail) * kNumbersPerVersion + (std::uint64_t{high} << 8 | low);
  return appended;
}

Result<void> Txn::scan_appended(std::string_view prefix, std::uint64_t after,
                                const VisitAppended& visit) {
  const std::uint64_t first = after + 1;
  const Range range{appended_key(prefix, first / kNumbersPerVersion, first % kNumbersPerVersion),
                    end_of_prefix(prefix)};
  return scan(range, [&](const Row& row) { return visit(to_appended(prefix, row)); }, Read::kPeek);
}

Result<void> Txn::scan_appended_back(std::string_view prefix, const VisitAppended& visit) {
  return scan_back(prefix_range(prefix),
                   [&](const Row& row) { return visit(to_appended(prefix, row)); });
}

}  // namespace lockkeeper::kv
