// For tests only: a realm with one layout in memory, and its table on the reference store.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/mirrored.h"
#include "kv/memory/memory_store.h"
#include "layout/registry.h"
#include "layout/test_layout.h"
#include "layout/test_table.h"

namespace lockkeeper::layout {

// Several tables on one store, which outlives them.
class BorrowedStore final : public kv::Store {
 public:
  explicit BorrowedStore(kv::Store& store) : store_(store) {}
  Result<std::unique_ptr<kv::Txn>> begin(kv::Access access) override {
    return store_.begin(access);
  }
  kv::Budget budget() const override { return store_.budget(); }
  kv::Epoch epoch() const override { return store_.epoch(); }

 private:
  kv::Store& store_;
};

class LayoutTest : public testing::Test {
 protected:
  LayoutTest() {
    at_.runtime.open_store = [this](const StoreRequest&) -> Result<std::unique_ptr<kv::Store>> {
      return std::make_unique<BorrowedStore>(store_);
    };
    at_.runtime.layout_kinds["test"] = [this](const LayoutEntry& entry,
                                              const LayoutContext& context) {
      return Result<std::unique_ptr<Layout>>(std::make_unique<TestLayout>(entry, context, disk_));
    };
    table_ = at_.table();
    entry_.kind = "test";
    entry_.root = at_.files.at("repo");
    EXPECT_TRUE(put_layout(*table_, entry_));
  }

  std::vector<core::Claim> claims(const std::string& name, core::Mode mode) const {
    const key::Rules rules = table_->settings().key_rules(table_->realm());
    return {{key::parse(name, rules).value().resource, mode}};
  }

  // Runs it in a write transaction of its own.
  void write(const std::function<void(core::Table&)>& work) {
    const auto done = table_->write([&](core::Table& table) -> Result<bool> {
      work(table);
      return false;
    });
    ASSERT_TRUE(done) << done.error().message;
  }
  void read(const std::function<void(core::Table&)>& look) {
    EXPECT_TRUE(table_->read([&](core::Table& table) -> Result<void> {
      look(table);
      return {};
    }));
  }

  // In a transaction: whoever is granted it there.
  core::Lease grant(core::Table& table, const std::string& agent, const std::string& name,
                    core::Mode mode = core::Mode::kExclusive) const {
    core::AcquireRequest request;
    request.owner = {agent, ""};
    request.claims = claims(name, mode);
    request.terms.ttl_ms = 60'000;
    const auto reply = table.acquire(request);
    EXPECT_TRUE(reply && reply->outcome == core::Outcome::kGranted) << agent << " " << name;
    return reply ? reply->lease : core::Lease();
  }
  void release(const core::Lease& lease) {
    write([&](core::Table& table) { EXPECT_TRUE(table.release_leases(lease.owner, {lease.id})); });
  }

  // The identities that the table has for it; those of ended leases in brackets.
  std::vector<std::string> rows(const std::string& artefact) {
    std::vector<std::string> found;
    read([&](core::Table& table) {
      const auto all = core::mirrored_as(table.state(), entry_.id(), artefact);
      ASSERT_TRUE(all);
      for (const core::MirrorArtefact& row : *all) {
        found.push_back(row.live ? row.identity : "[" + row.identity + "]");
      }
    });
    return found;
  }

  kv::MemoryStore store_;
  TestTable at_;
  TestDisk disk_;
  LayoutEntry entry_;
  std::unique_ptr<LockTable> table_;
};

}  // namespace lockkeeper::layout
