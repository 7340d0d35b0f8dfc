#include "model_store.h"

#include <algorithm>
#include <vector>

namespace lockkeeper::contract {

class ModelTxn final : public kv::Txn {
 public:
  explicit ModelTxn(ModelStore& store) : store_(store) {}

  Result<std::optional<kv::Row>> get(std::string_view key, kv::Read) override {
    const auto at = rows().find(std::string(key));
    if (at == rows().end()) return std::nullopt;
    return to_row(*at);
  }

  Result<void> scan(const kv::Range& range, const Visit& visit, kv::Read) override {
    for (const auto& row : rows()) {
      if (row.first >= range.from && row.first < range.to && !visit(to_row(row))) break;
    }
    return {};
  }

  Result<void> scan_back(const kv::Range& range, const Visit& visit) override {
    for (auto row = rows().rbegin(); row != rows().rend(); ++row) {
      if (row->first >= range.from && row->first < range.to && !visit(to_row(*row))) break;
    }
    return {};
  }

  Result<void> guard_absent(std::string_view key) override {
    holds_ = holds_ && !store_.rows_.contains(std::string(key));
    return {};
  }

  Result<void> guard_empty(const kv::Range& range) override {
    holds_ = holds_ && std::ranges::none_of(store_.rows_, [&](const auto& row) {
               return row.first >= range.from && row.first < range.to;
             });
    return {};
  }

  Result<void> guard_unchanged(std::string_view key, kv::Version modified) override {
    const auto at = store_.rows_.find(std::string(key));
    holds_ = holds_ && at != store_.rows_.end() && at->second.modified == modified;
    return {};
  }

  GuardMark guard_mark() const override { return 0; }
  void drop_guards(GuardMark) override {}

  Result<void> put(std::string_view key, std::string_view value, kv::Lifetime) override {
    wrote_ = true;
    const auto [place, fresh] = own().try_emplace(std::string(key));
    auto& stored = place->second;
    // Erased before by this transaction: it is overwritten.
    const auto before = store_.rows_.find(std::string(key));
    if (fresh && before != store_.rows_.end()) stored.created = before->second.created;
    stored.value = value;
    stored.modified = 0;
    return {};
  }

  Result<void> erase(std::string_view key) override {
    wrote_ = own().erase(std::string(key)) > 0 || wrote_;
    return {};
  }

  Result<void> append(std::string_view prefix, std::string_view value) override {
    wrote_ = true;
    appended_.emplace_back(prefix, value);
    return {};
  }

  kv::Budget left() const override { return {}; }

  Result<kv::CommitResult> commit() override {
    if (!holds_) return kv::CommitResult{kv::Fate::kConflict, 0};
    if (!wrote_) return kv::CommitResult{kv::Fate::kCommitted, store_.version_};
    const kv::Version version = ++store_.version_;
    for (auto& [key, stored] : own()) {
      if (stored.created == 0) stored.created = version;
      if (stored.modified == 0) stored.modified = version;
    }
    for (std::size_t i = 0; i < appended_.size(); ++i) {
      own()[kv::appended_key(appended_[i].first, version, i)] = {appended_[i].second, version,
                                                                 version};
    }
    store_.rows_ = std::move(own());
    return kv::CommitResult{kv::Fate::kCommitted, version};
  }

 private:
  static kv::Row to_row(const ModelStore::Rows::value_type& row) {
    return {row.first, row.second.value, row.second.created, row.second.modified};
  }

  const ModelStore::Rows& rows() const { return own_ ? *own_ : store_.rows_; }
  ModelStore::Rows& own() {
    if (!own_) own_ = store_.rows_;
    return *own_;
  }

  ModelStore& store_;
  std::optional<ModelStore::Rows> own_;  // from the first write on
  std::vector<std::pair<std::string, std::string>> appended_;
  bool wrote_ = false;
  bool holds_ = true;
};

Result<std::unique_ptr<kv::Txn>> ModelStore::begin(kv::Access) {
  return std::make_unique<ModelTxn>(*this);
}

}  // namespace lockkeeper::contract
