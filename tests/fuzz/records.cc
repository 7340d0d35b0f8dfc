// What lies in the store, of any bytes: it is read or refused, and what is read is written the same
// again (I10).
#include "core/encoding.h"
#include "fuzz.h"
#include "kv/lmdb/record.h"

namespace lockkeeper::fuzz {
namespace {

// A number may be spelled longer than we write it, so what is written once is what must stay.
template <class Decode, class Encode>
void check(std::string_view bytes, Decode decode, Encode encode) {
  const auto first = decode(bytes);
  if (!first) {
    require(first.error().code == Code::kStoreCorrupt, "refused with another code");
    require_readable(first.error());
    return;
  }
  if constexpr (requires { first->fence(); }) static_cast<void>(first->fence());
  const std::string written = encode(*first);
  const auto second = decode(written);
  require(second.has_value(), "what was written cannot be read");
  require(encode(*second) == written, "what was written is read as something else");
}

void check_row(Input& input) {
  const std::string key(input.take(input.byte()));
  const std::uint64_t created = input.number();
  const std::uint64_t age = input.number();
  const std::string_view payload = input.rest();
  kv::internal::Record record;
  // As it comes; it would have to guess the checksum.
  kv::internal::read_record(key, payload, record);
  // As we write it.
  constexpr std::uint64_t kVersionMax = std::uint64_t{1} << 45;
  std::string bytes;
  const std::uint64_t sum = kv::internal::write_record(
      bytes, key, created % kVersionMax, created % kVersionMax + age % kVersionMax, payload);
  require(kv::internal::read_record(key, bytes, record), "our own row is refused");
  require(record.checksum == sum && record.created == created % kVersionMax &&
              record.modified == record.created + age % kVersionMax && record.payload == payload,
          "our own row is read as another");
  require(!kv::internal::read_record(key + "x", bytes, record), "a row under another key");
  bytes[created % bytes.size()] ^= static_cast<char>(1U << (age % 8));
  require(!kv::internal::read_record(key, bytes, record), "a flipped bit is not seen");
}

void check_ledger(Input& input) {
  const std::string_view bytes = input.rest();
  kv::internal::Ledger ledger;
  if (!kv::internal::read_ledger(bytes, ledger)) return;
  require(kv::internal::write_ledger(ledger) == bytes, "the ledger is written as another");
}

}  // namespace

void run(Input input) {
  const core::LeaseId id{std::string(16, 'i')};
  const unsigned kind = input.byte() % 8U;
  if (kind == 6) return check_row(input);
  if (kind == 7) return check_ledger(input);
  const std::string_view bytes = input.rest();
  switch (kind) {
    case 0:
      return check(bytes, [&](auto b) { return core::decode_lease(id, b, 7); }, core::encode_lease);
    case 1:
      return check(
          bytes, [&](auto b) { return core::decode_waiter(id, b, 7); }, core::encode_waiter);
    case 2:
      return check(bytes, core::decode_claim, core::encode_claim);
    case 3:
      return check(bytes, core::decode_request, core::encode_request);
    case 4:
      return check(bytes, [&](auto b) { return core::decode_lost(id, b); }, core::encode_lost);
    default: {
      const auto decode = [](std::string_view b) { return core::decode_event({7, "e", b, 3}); };
      return check(bytes, decode, core::encode_event);
    }
  }
}

}  // namespace lockkeeper::fuzz
