#include "kv/lmdb/record.h"

#include <cstring>

#include "base/bytes.h"

namespace lockkeeper::kv::internal {
namespace {

constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kLedgerBytes = 44;

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

bool take_varint(std::string_view& rest, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 63 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

}  // namespace

std::uint64_t write_record(std::string& out, std::string_view key, Version created,
                           Version modified, std::string_view payload) {
  out.reserve(kChecksumBytes + 20 + payload.size());
  out.assign(kChecksumBytes, '\0');
  append_varint(out, created);
  append_varint(out, modified - created);
  out.append(payload);
  const std::uint64_t sum = hash64(key, std::string_view(out).substr(kChecksumBytes));
  std::memcpy(out.data(), &sum, kChecksumBytes);
  return sum;
}

bool read_record(std::string_view key, std::string_view bytes, Record& record) {
  if (bytes.size() < kChecksumBytes + 2) return false;
  std::memcpy(&record.checksum, bytes.data(), kChecksumBytes);
  std::string_view rest = bytes.substr(kChecksumBytes);
  if (hash64(key, rest) != record.checksum) return false;
  std::uint64_t age = 0;
  if (!take_varint(rest, record.created) || !take_varint(rest, age)) return false;
  record.modified = record.created + age;
  record.payload = rest;
  return true;
}

std::string write_ledger(const Ledger& ledger) {
  // Always of the same size, so that LMDB replaces it in place.
  std::string out;
  out.reserve(kLedgerBytes);
  append_be64(out, ledger.uid);
  append_be64(out, ledger.rows);
  append_be64(out, ledger.digest);
  append_be32(out, ledger.schema);
  append_be64(out, ledger.epoch_id);
  append_be64(out, static_cast<std::uint64_t>(ledger.fence_offset));
  return out;
}

bool read_ledger(std::string_view payload, Ledger& ledger) {
  if (payload.size() != kLedgerBytes) return false;
  ledger.uid = read_be64(payload);
  ledger.rows = read_be64(payload.substr(8));
  ledger.digest = read_be64(payload.substr(16));
  ledger.schema = read_be32(payload.substr(24));
  ledger.epoch_id = read_be64(payload.substr(28));
  ledger.fence_offset = static_cast<std::int64_t>(read_be64(payload.substr(36)));
  return true;
}

}  // namespace lockkeeper::kv::internal
