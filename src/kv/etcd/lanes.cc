#include "kv/etcd/lanes.h"

#include <thread>
#include <utility>

#include "base/bytes.h"
#include "base/random.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr char kRequest = 'r';
constexpr char kFence = 'f';
constexpr std::chrono::milliseconds kPause{50};

std::string own_folder(std::string folder) {
  append_be64(folder, SystemRandom().next());
  const std::size_t start = folder.size() - sizeof(std::uint64_t);
  return folder.substr(0, start) + to_hex(folder.substr(start)) + "/";
}

// The row that the transaction has read because a compare did not hold.
const KeyValue* first_row(const TxnAnswer& answer) {
  const auto& responses = answer.response.message.responses;
  return responses.empty() || responses[0].range.kvs.empty() ? nullptr : &responses[0].range.kvs[0];
}

}  // namespace

Lanes::Lanes(std::string folder, Session& session, Send send, std::chrono::milliseconds patience)
    : session_(session),
      send_(std::move(send)),
      patience_(patience),
      folder_(own_folder(std::move(folder))) {}

Compare Lanes::unchanged(const Lane& lane) {
  Compare compare;
  compare.key = lane.key;
  compare.revision = lane.modified;
  return compare;
}

Op Lanes::rewritten(const Lane& lane, const std::string& value) {
  return Put{lane.key, value, lane.lease};
}

std::string Lanes::new_word(char kind) {
  const std::lock_guard lock(mutex_);
  return kind + std::to_string(++words_);
}

Result<Lane> Lanes::take() {
  LK_CHECK(fence_doubtful());
  std::optional<Lane> lane;
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      lane = std::move(free_.back());
      free_.pop_back();
    }
  }
  if (!lane) {
    LK_ASSIGN(lane, make());
  }
  lane->request = new_word(kRequest);
  return std::move(*lane);
}

void Lanes::give_back(Lane lane) {
  const std::lock_guard lock(mutex_);
  if (lane.life == life_) free_.push_back(std::move(lane));
}

void Lanes::forget_all() {
  const std::lock_guard lock(mutex_);
  ++life_;
  free_.clear();
  doubtful_.clear();  // what they name is gone, so they can never be applied
}

// A request of its own, and not part of the first transaction: the first would have to compare that
// the lane is absent, and that is true again once it has vanished.
Result<Lane> Lanes::make() {
  Lane lane;
  {
    const std::lock_guard lock(mutex_);
    lane.key = folder_ + std::to_string(++made_);
    lane.life = life_;
  }
  LK_ASSIGN(lane.lease, session_.lease_for(kWhileOpen));
  TxnRequest request;
  Compare absent = unchanged(lane);
  absent.target = Compare::Target::kCreate;
  request.compares = {std::move(absent)};
  request.then = {rewritten(lane, new_word(kFence))};
  request.otherwise = {Get{lane.key}};
  const auto until = std::chrono::steady_clock::now() + patience_;
  while (true) {
    const TxnAnswer answer = send_(request);
    if (answer.end == TxnAnswer::End::kDone) {
      const KeyValue* const before = first_row(answer);
      const Header& header = answer.response.message.header;
      lane.modified = before != nullptr ? before->mod_revision : header.revision;
      return lane;
    }
    if (answer.lease_gone) session_.doubt_leases();
    const bool again = answer.end == TxnAnswer::End::kDoubt;  // it does no harm to make it twice
    if (!again || std::chrono::steady_clock::now() + kPause >= until) return fail(answer.error);
    std::this_thread::sleep_for(kPause);
  }
}

Lanes::Step Lanes::fence(Lane& lane) {
  TxnRequest request;
  request.compares = {unchanged(lane)};
  request.then = {rewritten(lane, new_word(kFence))};
  request.otherwise = {Get{lane.key}};
  const TxnAnswer answer = send_(request);
  if (answer.lease_gone) return Step::kVanished;
  if (answer.end != TxnAnswer::End::kDone) return Step::kAgain;
  if (answer.response.message.succeeded) {
    lane.modified = answer.response.message.header.revision;
    return Step::kFenced;
  }
  const KeyValue* const row = first_row(answer);
  if (row == nullptr) return Step::kVanished;
  lane.modified = row->mod_revision;
  return row->value == lane.request ? Step::kArrived : Step::kFenced;
}

Lanes::Fate Lanes::resolve(Lane& lane) {
  const auto until = std::chrono::steady_clock::now() + patience_;
  while (true) {
    switch (fence(lane)) {
      case Step::kArrived:
        return Fate::kArrived;
      case Step::kFenced:
        return Fate::kNever;
      case Step::kVanished:
        session_.doubt_leases();
        return Fate::kUnknown;
      case Step::kAgain:
        break;
    }
    if (std::chrono::steady_clock::now() + kPause >= until) break;
    std::this_thread::sleep_for(kPause);
  }
  return keep_in_doubt(lane);
}

Lanes::Fate Lanes::keep_in_doubt(const Lane& lane) {
  const std::lock_guard lock(mutex_);
  if (lane.life == life_) doubtful_.push_back(lane);
  return Fate::kUnknown;
}

Lanes::Fate Lanes::look(Lane& lane) {
  TxnRequest request;
  request.then = {Get{lane.key}};
  const auto until = std::chrono::steady_clock::now() + patience_;
  while (true) {
    const TxnAnswer answer = send_(request);
    if (answer.end == TxnAnswer::End::kDone) {
      const KeyValue* const row = first_row(answer);
      if (row == nullptr) break;
      lane.modified = row->mod_revision;
      return row->value == lane.request ? Fate::kArrived : Fate::kNever;
    }
    if (std::chrono::steady_clock::now() + kPause >= until) break;
    std::this_thread::sleep_for(kPause);
  }
  return keep_in_doubt(lane);
}

Result<void> Lanes::fence_doubtful() {
  const std::lock_guard turn(fencing_);
  while (true) {
    Lane lane;
    {
      const std::lock_guard lock(mutex_);
      if (doubtful_.empty()) return {};
      lane = doubtful_.back();
    }
    const Step step = fence(lane);
    if (step == Step::kAgain) {
      return fail(Code::kStoreUnavailable,
                  "an earlier request to etcd is still in doubt, and nothing may overtake it",
                  "try again when enough of its members can be reached");
    }
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(doubtful_, [&](const Lane& each) { return each.key == lane.key; });
    }
    if (step != Step::kVanished) give_back(std::move(lane));
  }
}

}  // namespace lockkeeper::kv::etcd
