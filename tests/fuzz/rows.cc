// The keys of rows: whatever overlaps a resource lies in the ranges that are searched for it, two
// places never share a range, and what is due is found in order.
#include "core/rows.h"
#include "fuzz.h"
#include "key/place.h"

namespace lockkeeper::fuzz {
namespace {

using core::Holding;
using core::Mode;
using key::Place;
using key::Resource;

bool contains(const kv::Range& range, std::string_view key) {
  return range.from <= key && key < range.to;
}

void check_places(const Resource& a, const Resource& b) {
  const Place at_a(a);
  const Place at_b(b);
  const core::LeaseId id{std::string(16, '\xff')};
  const std::string row = core::claim_key(Holding::kLease, Mode::kShared, at_b, id, 0xffff);
  require(row.size() <= kv::kKeyBytesMax, "a key that no store takes");
  require(core::id_in_claim_key(row) == id, "another id");
  require(core::mode_in_claim_key(row) == Mode::kShared, "another mode");
  const std::string& place = at_a.space_and_segments;
  const bool here = contains(core::exactly_at(Holding::kLease, Mode::kShared, place), row);
  require(here == (place == at_b.space_and_segments), "two places share a range");

  kv::Range below;
  core::set_claim_range(below, Holding::kLease, Mode::kShared, place, true);
  bool found = contains(below, row);
  for (const std::size_t end : at_a.ancestor_ends) {
    const std::string ancestor = place.substr(0, end);
    found |= contains(core::exactly_at(Holding::kLease, Mode::kShared, ancestor), row);
  }
  const auto overlap = key::overlap(a, b);
  require(found || (overlap && !overlap->has_value()),
          a.text() + " overlaps " + b.text() + ", and is not looked for there");
  const std::string waits = core::claim_key(Holding::kWaiter, Mode::kShared, at_b, id, 0);
  require(contains(core::all_waiter_claims(), waits), "a waiter's claim that is not found");
  require(!contains(core::all_waiter_claims(), row), "a lease's claim among the waiters");
}

void check_due(Input& input) {
  constexpr std::int64_t kTimeMax = INT64_MAX - 1;
  const std::uint64_t epoch = input.number();
  const std::int64_t time = static_cast<std::int64_t>(input.number() >> 1) % kTimeMax;
  const std::uint64_t now_epoch = input.byte() < 128 ? epoch : input.number();
  const std::int64_t now = static_cast<std::int64_t>(input.number() >> 1) % kTimeMax;
  const std::string subject(input.rest());
  const std::string key = core::due_key(epoch, time, core::Due::kLease, subject);
  const auto read = core::read_due_key(key);
  require(read && read->epoch == epoch && read->mono_ms == time &&
              read->what == core::Due::kLease && read->subject == subject,
          "a due row is read as another");
  const bool due = epoch < now_epoch || (epoch == now_epoch && time < now);
  require(contains(core::due_before(now_epoch, now), key) == due, "due at another time");
}

}  // namespace

void run(Input input) {
  const unsigned choice = input.byte();
  if (choice % 4 == 0) return check_due(input);
  if (choice % 4 == 1) {
    const std::string_view bytes = input.rest();
    if (const auto due = core::read_due_key(bytes)) {
      require(
          core::due_key(due->epoch, due->mono_ms, due->what, due->subject).size() == bytes.size(),
          "a due row of another length");
    }
    const auto id = core::LeaseId::from_text(bytes);
    if (id) require(id->bytes.size() == 16, "an id of another length");
    return;
  }
  const auto a = key::parse(input.line(), {});
  const auto b = key::parse(input.line(), {});
  if (!a || !b) return;
  check_places(a->resource, b->resource);
  check_places(b->resource, a->resource);
}

}  // namespace lockkeeper::fuzz
