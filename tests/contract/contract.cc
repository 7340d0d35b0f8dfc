#include "contract.h"

#include <algorithm>
#include <cstdlib>

#include "base/assert.h"

namespace lockkeeper::contract {

namespace {

template <class T>
void expect_ok(const Result<T>& result) {
  EXPECT_TRUE(result.has_value()) << code_name(result.error().code) << ": "
                                  << result.error().message;
}

kv::Txn::Visit collect_into(Pairs& rows, std::size_t most) {
  return [&rows, most](const kv::Row& row) {
    rows.emplace_back(row.key, row.value);
    return rows.size() < most;
  };
}

}  // namespace

std::vector<Backend> optimistic_backends() {
  std::vector<Backend> some;
  std::ranges::copy_if(backends(), std::back_inserter(some), &Backend::optimistic);
  return some;
}

std::uint64_t test_seed(std::uint64_t otherwise) {
  const char* text = std::getenv("LOCKKEEPER_SEED");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Tx::Tx(kv::Store& store, kv::Access access) {
  auto txn = store.begin(access);
  expect_ok(txn);
  LOCKKEEPER_ASSERT(txn.has_value());
  txn_ = std::move(*txn);
}

std::optional<std::string> Tx::get(std::string_view key, kv::Read read) {
  const auto row = txn_->get(key, read);
  expect_ok(row);
  if (!row || !*row) return std::nullopt;
  EXPECT_EQ((*row)->key, key);
  return std::string((*row)->value);
}

std::optional<kv::Row> Tx::row(std::string_view key) {
  const auto row = txn_->get(key);
  expect_ok(row);
  return row ? *row : std::nullopt;
}

Pairs Tx::scan(const std::string& from, const std::string& to, std::size_t most, kv::Read read) {
  Pairs rows;
  expect_ok(txn_->scan({from, to}, collect_into(rows, most), read));
  return rows;
}

Pairs Tx::scan_back(const std::string& from, const std::string& to, std::size_t most) {
  Pairs rows;
  expect_ok(txn_->scan_back({from, to}, collect_into(rows, most)));
  return rows;
}

void Tx::put(std::string_view key, std::string_view value) {
  expect_ok(txn_->put(key, value));
}

void Tx::erase(std::string_view key) {
  expect_ok(txn_->erase(key));
}

void Tx::append(std::string_view prefix, std::string_view value) {
  expect_ok(txn_->append(prefix, value));
}

void Tx::guard_absent(std::string_view key) {
  expect_ok(txn_->guard_absent(key));
}

void Tx::guard_empty(const std::string& from, const std::string& to) {
  expect_ok(txn_->guard_empty({from, to}));
}

void Tx::guard_unchanged(std::string_view key, kv::Version modified) {
  expect_ok(txn_->guard_unchanged(key, modified));
}

kv::CommitResult Tx::commit() {
  const auto result = txn_->commit();
  txn_.reset();
  expect_ok(result);
  return result.value_or(kv::CommitResult{});
}

kv::Version Tx::committed() {
  const kv::CommitResult result = commit();
  EXPECT_EQ(result.fate, kv::Fate::kCommitted);
  return result.version;
}

kv::Version Contract::fill(const Pairs& rows) {
  Tx tx = write();
  for (const auto& [key, value] : rows) tx.put(key, value);
  return tx.committed();
}

Pairs Contract::all() {
  Tx tx = read();
  return tx.scan(std::string(1, '\0'), std::string(kv::kKeyBytesMax + 1, '\xff'), SIZE_MAX,
                 kv::Read::kPeek);
}

Pairs Contract::all_by_version() {
  Pairs rows;
  const auto note = [&](const kv::Row& row) {
    rows.emplace_back(by_version(row.key, row.created), row.value);
    return true;
  };
  Tx tx = read();
  expect_ok(tx->scan({std::string(1, '\0'), std::string(kv::kKeyBytesMax + 1, '\xff')}, note));
  return rows;
}

std::string by_version(std::string_view key, kv::Version created) {
  if (key.size() < kv::kAppendTailBytes) return std::string(key);
  const std::size_t prefix = key.size() - kv::kAppendTailBytes;
  if (key.substr(prefix, 4) != std::string_view("\0\0\0", 4)) return std::string(key);
  const auto number = kv::to_appended(key.substr(0, prefix), {key, {}, 0, 0}).number;
  return kv::appended_key(key.substr(0, prefix), created, number % kv::kNumbersPerVersion);
}

std::string numbered(std::string prefix, std::size_t number) {
  return prefix.append(std::to_string(number));
}

std::string keys(const Pairs& rows) {
  std::string joined;
  for (const auto& [key, value] : rows) joined.append(joined.empty() ? "" : " ").append(key);
  return joined;
}

}  // namespace lockkeeper::contract
