// For tests alone: a layout in memory, its realm, and the table on the reference store.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "core/foreign.h"
#include "key/namespaces.h"
#include "kv/memory/memory_store.h"
#include "layout/open_layouts.h"
#include "layout/registry.h"
#include "layout/test_table.h"

namespace lockkeeper::layout {

// What stands in a test's layout: artefacts with their identities, each a source of its own.
struct TestDisk {
  std::map<std::string, std::string> there;
  std::set<std::pair<core::LeaseId, std::string>> prepared;
  std::function<void(const std::string& artefact)> before_publish;
};

// An artefact is called like the one file that it locks.
class TestLayout final : public Layout {
 public:
  TestLayout(const LayoutEntry& entry, const LayoutContext& context, TestDisk& disk)
      : Layout(entry), rules_(context.settings.key_rules(context.realm)), disk_(disk) {}

  Result<ScanResult> scan(const Interest& interest) override {
    ScanResult seen;
    seen.complete = true;
    for (const auto& [artefact, identity] : disk_.there) see(artefact, interest, seen);
    return seen;
  }
  Result<ScanResult> scan_source(const std::string& source) override {
    ScanResult seen;
    if (disk_.there.contains(source)) see(source, {}, seen);
    if (seen.sources.empty()) seen.absent.push_back(source);
    return seen;
  }
  bool scan_after_publishing() const override { return false; }
  Artefacts artefacts(const core::Lease& lease) const override {
    Artefacts all;
    for (const core::Claim& claim : lease.claims) all.names.push_back(claim.resource.text());
    return all;
  }
  std::string identity(const core::Lease& lease, const std::string&) const override {
    return lease.owner.agent + " " + lease.id.text();
  }
  Result<void> prepare(const core::Lease& lease, const std::string& artefact) override {
    disk_.prepared.emplace(lease.id, artefact);
    return {};
  }
  Result<Published> publish(const core::Lease& lease, const std::string& artefact,
                            const PublishTerms& terms) override {
    if (const auto hook = disk_.before_publish) hook(artefact);  // a copy: it may clear itself
    const auto at = disk_.there.find(artefact);
    const bool free = at == disk_.there.end() ||
                      std::ranges::find(terms.replaces, at->second) != terms.replaces.end();
    if (!free || disk_.prepared.erase({lease.id, artefact}) == 0) return Published::kTaken;
    disk_.there[artefact] = identity(lease, artefact);
    return Published::kDone;
  }
  Result<bool> is_prepared(const core::LeaseId& lease, const std::string& artefact) override {
    return disk_.prepared.contains({lease, artefact});
  }
  Result<void> discard(const core::LeaseId& lease, const std::string& artefact) override {
    disk_.prepared.erase({lease, artefact});
    return {};
  }
  Result<void> refresh(const core::Lease&, const std::string&) override { return {}; }
  Result<Removed> remove(const std::string& artefact, const std::string& identity) override {
    const auto at = disk_.there.find(artefact);
    if (at == disk_.there.end()) return Removed::kGone;
    if (!identity.empty() && at->second != identity) return Removed::kForeign;
    disk_.there.erase(at);
    return Removed::kDone;
  }

 private:
  void see(const std::string& artefact, const Interest& interest, ScanResult& seen) const {
    const std::string& identity = disk_.there.at(artefact);
    const std::uint64_t stamp = hash64(identity);
    seen.sources.push_back({artefact, stamp, false});
    if (interest.known && interest.known(artefact, stamp)) return;
    Sighting sighting;
    sighting.identity = identity;
    sighting.lock.layout = id();
    sighting.lock.artefact = artefact;
    sighting.lock.path = entry().root + "/" + artefact;
    sighting.lock.owner.agent = identity;
    sighting.lock.stamp = stamp;
    sighting.lock.claims = {
        {key::parse(artefact, rules_).value().resource, core::Mode::kExclusive}};
    seen.sightings.push_back(std::move(sighting));
  }

  const key::Rules rules_;
  TestDisk& disk_;
};

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
