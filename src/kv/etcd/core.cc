#include "kv/etcd/core.h"

#include <utility>

#include "base/bytes.h"
#include "base/clock.h"
#include "kv/etcd/copy_reader.h"

namespace lockkeeper::kv {
namespace {

using etcd::Compare;
using etcd::Get;
using etcd::Header;
using etcd::Lane;
using etcd::RangeRequest;
using etcd::TxnAnswer;
using etcd::TxnRequest;
using etcd::TxnResponse;

// Far more than all hubs can have seen beyond what this one has.
constexpr std::int64_t kFenceMargin = 1'000'000'000;

const etcd::KeyValue* row_of(const TxnResponse& response, std::size_t op) {
  if (response.responses.size() <= op || response.responses[op].range.kvs.empty()) return nullptr;
  return &response.responses[op].range.kvs.front();
}

}  // namespace

EtcdStore::Core::Core(EtcdOptions options, std::unique_ptr<etcd::Client> client,
                      std::unique_ptr<etcd::Seen> seen)
    : options_(std::move(options)),
      keys_(options_.address.prefix),
      client_(std::move(client)),
      seen_(std::move(seen)),
      session_(*client_, options_.kept_ms,
               [this] {
                 lanes_.forget_all();
                 if (options_.on_lease_lost) options_.on_lease_lost();
               }),
      lanes_(
          keys_.lanes(), session_, [this](const TxnRequest& request) { return send(request); },
          client_->patience().all) {}

EtcdStore::Core::~Core() {
  if (feed_) feed_->close();
  session_.close();  // it tells the lanes when its lease is lost
}

void EtcdStore::Core::note_corrupt(const Error& error) {
  if (error.code != Code::kStoreCorrupt) return;
  {
    const std::lock_guard lock(mutex_);
    corrupt_ = error;
  }
  if (feed_) feed_->reload();
}

// An answer from an older state proves nothing about the newer one, so it counts as none.
TxnAnswer EtcdStore::Core::send(const TxnRequest& request) {
  const Version floor = seen_->floor();
  TxnAnswer answer = client_->txn(request);
  if (answer.end != TxnAnswer::End::kDone) return answer;
  if (auto sound = seen_->saw(answer.response.message.header, floor); !sound) {
    note_corrupt(sound.error());
    answer.end = TxnAnswer::End::kDoubt;
    answer.error = std::move(sound.error());
    return answer;
  }
  const Version revision = answer.response.message.header.revision;
  for (Version known = floor_; known < revision;) {
    if (floor_.compare_exchange_weak(known, revision)) break;
  }
  return answer;
}

Result<etcd::Held<etcd::RangeResponse>> EtcdStore::Core::ask(const RangeRequest& request) {
  const Version floor = seen_->floor();
  LK_ASSIGN(auto answer, client_->range(request));
  if (request.serializable) return answer;
  if (auto sound = seen_->saw(answer.message.header, floor); !sound) {
    note_corrupt(sound.error());
    return fail(std::move(sound.error()));
  }
  return answer;
}

// --- the copy ------------------------------------------------------------------------------------

void EtcdStore::Core::follow() {
  if (!has_copy() && !options_.on_change) return;
  feed_ = std::make_unique<etcd::Feed>(
      *client_, keys_, [this](const RangeRequest& request) { return ask(request); },
      has_copy() ? options_.copy_bytes_max : 0, options_.on_change);
  feed_->start();
}

bool EtcdStore::Core::wait_for_copy(std::chrono::steady_clock::time_point until) {
  return feed_ && feed_->wait(until);
}

std::unique_ptr<etcd::Reader> EtcdStore::Core::reader(Access access, Version epoch) {
  auto remote = std::make_unique<etcd::RemoteReader>(
      keys_, [this](const RangeRequest& request) { return ask(request); });
  if (!feed_ || !has_copy()) return remote;
  bool newest = access == Access::kRead;
  if (!newest) {
    const std::lock_guard lock(mutex_);
    newest = ask_first_.erase(std::this_thread::get_id()) > 0;
  }
  const auto take = [this, epoch, newest]() -> Result<std::unique_ptr<etcd::Copy::View>> {
    if (newest) return newest_view(epoch);
    return feed_->view(epoch, floor_);
  };
  return std::make_unique<etcd::CopyReader>(take, newest, std::move(remote));
}

// The watch is asked at the same time, since it tells of no revision that changed other rows.
Result<std::unique_ptr<etcd::Copy::View>> EtcdStore::Core::newest_view(Version epoch) {
  if (!feed_ || !feed_->has_copy(epoch)) return nullptr;
  feed_->ask_progress();
  RangeRequest request;
  request.key = keys_.epoch();
  LK_ASSIGN(const auto answer, ask(request));
  const auto& kvs = answer.message.kvs;
  if (kvs.empty() || kvs.front().mod_revision != epoch) {
    LK_CHECK(read_epoch());
    return nullptr;
  }
  return feed_->view(epoch, answer.message.header.revision);
}

void EtcdStore::Core::ask_first() {
  const std::lock_guard lock(mutex_);
  if (feed_ && has_copy()) ask_first_.insert(std::this_thread::get_id());
}

// --- the epoch -----------------------------------------------------------------------------------

Epoch EtcdStore::Core::epoch() const {
  const std::lock_guard lock(mutex_);
  return epoch_;
}

Version EtcdStore::Core::epoch_version() const {
  const std::lock_guard lock(mutex_);
  return epoch_modified_;
}

Compare EtcdStore::Core::same_epoch(Version epoch) const {
  Compare compare;
  compare.key = keys_.epoch();
  compare.revision = epoch;
  return compare;
}

Result<void> EtcdStore::Core::check() {
  {
    const std::lock_guard lock(mutex_);
    if (!corrupt_) return {};
  }
  return read_epoch();
}

Result<void> EtcdStore::Core::read_epoch() {
  RangeRequest request;
  request.key = keys_.epoch();
  const Version floor = seen_->floor();
  LK_ASSIGN(const auto answer, client_->range(request));
  const auto& kvs = answer.message.kvs;
  std::optional<etcd::EpochRow> row;
  if (!kvs.empty()) {
    row = etcd::parse_epoch(kvs.front().value);
    if (!row) {
      return fail(Code::kStoreCorrupt, "the row " + keys_.epoch() + " in etcd is damaged",
                  "is that prefix used by something else?");
    }
  }
  if (row && row->schema != options_.schema_version) {
    return fail(Code::kStoreUnavailable,
                "the rows in etcd have schema " + std::to_string(row->schema) +
                    ", and this hub has " + std::to_string(options_.schema_version),
                "run the same version of lockkeeper on all hubs");
  }
  if (auto sound = seen_->saw_epoch(answer.message.header, row, floor); !sound) {
    note_corrupt(sound.error());
    return fail(std::move(sound.error()));
  }
  if (!row) return make_epoch();
  bool begun = false;
  {
    const std::lock_guard lock(mutex_);
    corrupt_.reset();
    epoch_modified_ = kvs.front().mod_revision;
    begun = epoch_.id != 0 && epoch_.id != row->id;
    if (epoch_.id != row->id) {
      epoch_ = {row->id, row->fence_offset, SystemClock().now().mono_ms};
    }
  }
  if (!begun) return {};
  floor_ = 0;  // the cluster may be another one
  if (feed_) feed_->reload();
  // What is on its way names the former epoch and can never be applied. Leases may be gone.
  lanes_.forget_all();
  session_.doubt_leases();
  return {};
}

Result<void> EtcdStore::Core::make_epoch() {
  TxnRequest request;
  Compare absent;
  absent.key = keys_.epoch();
  absent.target = Compare::Target::kCreate;
  request.compares = {std::move(absent)};
  request.then = {etcd::Put{keys_.epoch(), etcd::format_epoch({options_.schema_version, 1, 0}), 0}};
  const TxnAnswer answer = send(request);
  // Another hub may have been faster, or this one without knowing it: either way it is there now.
  if (answer.end == TxnAnswer::End::kDone || answer.end == TxnAnswer::End::kDoubt) {
    RangeRequest again;
    again.key = keys_.epoch();
    LK_ASSIGN(const auto now, client_->range(again));
    if (!now.message.kvs.empty()) return read_epoch();
  }
  return fail(answer.error);
}

Result<void> EtcdStore::Core::begin_epoch() {
  const etcd::Seen::State seen = seen_->state();
  RangeRequest request;
  request.key = keys_.epoch();
  LK_ASSIGN(const auto answer, client_->range(request));
  const auto& kvs = answer.message.kvs;
  etcd::EpochRow former;
  Compare unchanged;
  unchanged.key = keys_.epoch();
  if (!kvs.empty()) {
    former = etcd::parse_epoch(kvs.front().value).value_or(etcd::EpochRow{});
    unchanged.revision = kvs.front().mod_revision;
  }
  const auto revision = static_cast<std::int64_t>(answer.message.header.revision);
  const std::int64_t highest =
      std::max(static_cast<std::int64_t>(seen.revision) + seen.epoch.fence_offset,
               revision + former.fence_offset);
  const etcd::EpochRow next{kvs.empty() ? options_.schema_version : former.schema,
                            std::max(former.id, seen.epoch.id) + 1,
                            highest - revision + kFenceMargin};
  TxnRequest change;
  change.compares = {std::move(unchanged)};
  change.then = {etcd::Put{keys_.epoch(), etcd::format_epoch(next), 0}};
  const TxnAnswer changed = client_->txn(change);
  if (changed.end != TxnAnswer::End::kDone) return fail(changed.error);
  if (changed.response.message.succeeded) return read_epoch();
  return fail(Code::kStoreBusy, "another process has begun a new epoch at this moment",
              "if the store is still refused, try again");
}

// --- commits -------------------------------------------------------------------------------------

Result<EtcdStore::Core::Changes> EtcdStore::Core::add_writes(TxnRequest& request, const Lane& lane,
                                                             std::vector<EtcdWrite> writes) {
  Changes changes;
  std::size_t index = 0;
  for (EtcdWrite& write : writes) {
    if (!write.value) {
      request.then.emplace_back(etcd::Delete{keys_.row(write.key)});
      changes.push_back({std::move(write.key), std::nullopt, 0});
      continue;
    }
    std::uint64_t lease = 0;
    if (write.lifetime != kUntilErased) {
      LK_ASSIGN(lease, session_.lease_for(write.lifetime));
    }
    // What the lane was last is nobody else's, ever: a ticket.
    std::string key = write.appended ? appended_key(write.key, lane.modified, index++) : write.key;
    request.then.emplace_back(etcd::Put{keys_.row(key), *write.value, lease});
    changes.push_back({std::move(key), std::move(write.value), 0});
  }
  return changes;
}

Result<CommitResult> EtcdStore::Core::commit(const etcd::Guards& guards,
                                             std::vector<EtcdWrite> writes, bool put,
                                             Version read_at, Version epoch) {
  LK_ASSIGN(Lane lane, lanes_.take());
  TxnRequest request;
  request.compares = guards.compares(keys_, 0, kGuardsMax);
  request.compares.push_back(etcd::Lanes::unchanged(lane));
  request.compares.push_back(same_epoch(epoch));
  request.otherwise = {Get{lane.key}, Get{keys_.epoch()}};
  request.then.push_back(etcd::Lanes::rewritten(lane, lane.request));
  auto changes = add_writes(request, lane, std::move(writes));
  if (!changes) {
    lanes_.give_back(std::move(lane));
    return fail(std::move(changes.error()));
  }
  const TxnAnswer answer = send(request);
  const TxnResponse& response = answer.response.message;
  if (feed_ && answer.end == TxnAnswer::End::kDone && response.succeeded) {
    feed_->commit(epoch, response.header.revision, std::move(*changes));
  }
  return settle(std::move(lane), answer, put, read_at);
}

Result<CommitResult> EtcdStore::Core::settle(Lane lane, const TxnAnswer& answer, bool put,
                                             Version read_at) {
  // etcd looks at its quota after it has written, too: what it refuses then is there. (I9)
  if (answer.end == TxnAnswer::End::kRefused && answer.error.code == Code::kNoSpace) {
    const auto fate = lanes_.look(lane);
    return settled(std::move(lane), fate, answer.error);
  }
  if (answer.end == TxnAnswer::End::kRefused) {
    lanes_.give_back(std::move(lane));
    if (!answer.lease_gone) return fail(answer.error);
    session_.doubt_leases();
    return CommitResult{Fate::kConflict, 0};  // the next attempt gets other leases
  }
  if (answer.end == TxnAnswer::End::kDoubt) {
    const auto fate = lanes_.resolve(lane);
    return settled(std::move(lane), fate, answer.error);
  }
  const TxnResponse& response = answer.response.message;
  if (!response.succeeded) return conflict(std::move(lane), response);
  const Version version = response.header.revision;
  lane.modified = version;
  lanes_.give_back(std::move(lane));
  for (const etcd::OpResponse& op : response.responses) put = put || op.deleted > 0;
  if (!put) return CommitResult{Fate::kCommitted, read_at != 0 ? read_at : version - 1};
  return CommitResult{Fate::kCommitted, version};
}

// Of a request that was not simply answered. One that never came may be made again, unless it was
// refused.
Result<CommitResult> EtcdStore::Core::settled(Lane lane, etcd::Lanes::Fate fate,
                                              const Error& error) {
  if (fate == etcd::Lanes::Fate::kUnknown) {
    return fail(Code::kUnknown, "etcd was asked to commit and has not answered: " + error.message,
                "ask again with the same request id");
  }
  const Version version = lane.modified;
  lanes_.give_back(std::move(lane));
  if (fate == etcd::Lanes::Fate::kArrived) return CommitResult{Fate::kCommitted, version};
  if (error.code == Code::kNoSpace) return fail(error);
  return CommitResult{Fate::kConflict, 0};
}

Result<CommitResult> EtcdStore::Core::conflict(Lane lane, const TxnResponse& response) {
  const etcd::KeyValue* const lane_row = row_of(response, 0);
  const etcd::KeyValue* const epoch_row = row_of(response, 1);
  if (lane_row == nullptr) {
    session_.doubt_leases();
  } else if (lane_row->mod_revision == lane.modified) {
    lanes_.give_back(std::move(lane));
  }
  const Version now = epoch_row == nullptr ? 0 : epoch_row->mod_revision;
  if (now != epoch_version()) LK_CHECK(read_epoch());
  return CommitResult{Fate::kConflict, 0};
}

// A transaction of compares alone would be answered by one member from what it happens to know, so
// it reads a row besides.
Result<CommitResult> EtcdStore::Core::confirm(const etcd::Guards& guards, Version read_at) {
  const auto until = std::chrono::steady_clock::now() + client_->patience().all;
  Version version = read_at;
  for (std::size_t first = 0; first < guards.size();) {
    TxnRequest request;
    request.compares = guards.compares(keys_, first, kGuardsMax);
    request.then = request.otherwise = {Get{keys_.epoch()}};
    const TxnAnswer answer = send(request);
    if (answer.end != TxnAnswer::End::kDone) {
      const bool again =
          answer.end == TxnAnswer::End::kDoubt && answer.error.code != Code::kStoreCorrupt;
      if (again && std::chrono::steady_clock::now() < until) continue;
      return fail(answer.error);
    }
    if (!answer.response.message.succeeded) return CommitResult{Fate::kConflict, 0};
    if (version == 0) version = answer.response.message.header.revision;
    first += request.compares.size();
  }
  return CommitResult{Fate::kCommitted, version};
}

}  // namespace lockkeeper::kv
