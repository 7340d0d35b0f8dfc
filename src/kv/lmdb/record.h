// A row as it is stored in the data file:
//
//   checksum 8 | created varint | modified - created varint | payload
//
// The checksum covers the key and everything after the checksum. So a read finds a row that is
// damaged or stored under another row's key. The sum of all checksums, modulo 2^64, is the digest
// of the store. Each write updates it with one subtraction and one addition.
//
// One more row, the ledger, holds what must change in the same commit as the rows: the digest,
// their number, the schema's version and the data file's uid.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kv/store.h"

namespace lockkeeper::kv::internal {

struct Record {
  Version created = 0;
  Version modified = 0;
  std::string_view payload;
  std::uint64_t checksum = 0;
};

// Replaces `out`. Returns the checksum.
std::uint64_t write_record(std::string& out, std::string_view key, Version created,
                           Version modified, std::string_view payload);

inline constexpr std::size_t kRecordHeadBytesMax = 8 + 2 * 9;

// False if `bytes` is not what write_record made for this key.
bool read_record(std::string_view key, std::string_view bytes, Record& record);

struct Ledger {
  std::uint64_t uid = 0;
  std::uint64_t rows = 0;  // without the ledger itself
  std::uint64_t digest = 0;
  std::uint32_t schema = 0;
  // Of the epoch that wrote it. Repair uses it when both epoch files are lost (I3).
  std::uint64_t epoch_id = 0;
  std::int64_t fence_offset = 0;
  Version modified = 0;  // of its row, as read; not part of its value
};

std::string write_ledger(const Ledger& ledger);
bool read_ledger(std::string_view payload, Ledger& ledger);

// The ledger's key. Every commit changes the ledger, so it comes right behind the newest appended
// row and shares that row's page. Callers never see it. Version 2^64 - 1 does not exist.
inline constexpr std::string_view kLedgerKey = "e\xff\xff\xff\xff\xff\xff\xff\xffledger";

}  // namespace lockkeeper::kv::internal
