#include "kv/etcd/revisions.h"

#include <utility>

namespace lockkeeper::kv::etcd {

Revisions::Next Revisions::hear(const WatchResponse& message) {
  if (message.canceled) return message.compact_revision != 0 ? Next::kReload : Next::kAgain;
  if (message.created) {
    // A member that is behind would leave out what it does not have yet.
    if (message.header.revision < copy_->version()) return Next::kAgain;
    created_ = true;
    copy_->set_in_step(true);
  }
  if (!created_) return Next::kAgain;
  if (!message.events.empty() || message.fragment) return take(message);
  if (message.created) return Next::kGoOn;  // what has happened before is yet to come
  if (!events_.empty()) return Next::kReload;
  copy_->advance(message.header.revision);
  return Next::kGoOn;
}

Revisions::Next Revisions::take(const WatchResponse& message) {
  for (const WatchResponse::Event& told : message.events) {
    Event event;
    event.revision = told.kv.mod_revision;
    // Not in order: then nothing of it can be relied on.
    if (!events_.empty() && event.revision < events_.back().revision) return Next::kReload;
    event.of_epoch = told.kv.key == keys_.epoch();
    if (told.kv.key.starts_with(keys_.rows())) {
      event.change.key = keys_.key_of(told.kv.key);
      if (!told.erased) event.change.value.emplace(told.kv.value);
      event.change.created = told.kv.create_revision;
    }
    bytes_ += told.kv.key.size() + told.kv.value.size();
    events_.push_back(std::move(event));
  }
  if (bytes_ > most_bytes_) return Next::kTooLarge;
  return message.fragment ? Next::kGoOn : apply();
}

Revisions::Next Revisions::apply() {
  const Version have = copy_->version();
  for (std::size_t i = 0; i < events_.size();) {
    const std::uint64_t revision = events_[i].revision;
    std::vector<Copy::Change> changes;
    for (; i < events_.size() && events_[i].revision == revision; ++i) {
      if (revision <= have) continue;
      if (events_[i].of_epoch) return Next::kReload;
      if (!events_[i].change.key.empty()) changes.push_back(std::move(events_[i].change));
    }
    if (revision > have && !copy_->apply(revision, changes)) return Next::kReload;
  }
  events_.clear();
  bytes_ = 0;
  return copy_->bytes() > most_bytes_ ? Next::kTooLarge : Next::kGoOn;
}

}  // namespace lockkeeper::kv::etcd
