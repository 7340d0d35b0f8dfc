// What an etcd answers, of any bytes: it is read or refused, and what is read lies in the bytes
// (I10).
#include <functional>

#include "fuzz.h"
#include "kv/etcd/address.h"
#include "kv/etcd/messages.h"
#include "kv/etcd/seen.h"
#include "kv/etcd/version.h"
#include "kv/etcd/version_page.h"

namespace lockkeeper::fuzz {
namespace {

using namespace kv::etcd;

void require_within(std::string_view part, std::string_view whole) {
  if (part.empty()) return;
  const auto from = std::less_equal<>();
  require(from(whole.data(), part.data()) &&
              from(part.data() + part.size(), whole.data() + whole.size()),
          "a row lies outside of the message");
}

void require_rows(const RangeResponse& range, std::string_view whole) {
  for (const KeyValue& kv : range.kvs) {
    require_within(kv.key, whole);
    require_within(kv.value, whole);
  }
}

}  // namespace

void run(Input input) {
  const unsigned kind = input.byte();
  const std::string_view bytes = input.rest();
  switch (kind % 7) {
    case 0:
      if (const auto range = decode_range(bytes)) require_rows(*range, bytes);
      break;
    case 1:
      if (const auto txn = decode_txn(bytes)) {
        for (const OpResponse& op : txn->responses) require_rows(op.range, bytes);
      }
      break;
    case 2:
      if (const auto watch = decode_watch(bytes)) {
        require_within(watch->cancel_reason, bytes);
        for (const auto& event : watch->events) require_within(event.kv.key, bytes);
      }
      break;
    case 3:
      if (const auto status = decode_status(bytes)) {
        const auto checked = check_version(status->version, true, false, "here");
        if (!checked) require_readable(checked.error());
      }
      break;
    case 6:
      static_cast<void>(decode_members(bytes));
      static_cast<void>(decode_alarms(bytes));
      static_cast<void>(quota_in_page(std::string(bytes)));
      break;
    case 4:
      static_cast<void>(decode_keep_alive(bytes));
      static_cast<void>(decode_lease_grant(bytes));
      static_cast<void>(decode_authenticate(bytes));
      break;
    default:
      static_cast<void>(version_in_page(std::string(bytes)));
      if (const auto epoch = parse_epoch(bytes)) {
        require(parse_epoch(format_epoch(*epoch)).has_value(), "our own epoch is refused");
      }
      if (const auto address = parse_address(bytes); !address) require_readable(address.error());
  }
}

}  // namespace lockkeeper::fuzz
