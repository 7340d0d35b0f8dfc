// For tests only: a layout in memory.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "layout/layout.h"

namespace lockkeeper::layout {

// What stands in a test's layout: artefacts with their identities, each a source of its own.
struct TestDisk {
  std::map<std::string, std::string> there;
  std::set<std::pair<core::LeaseId, std::string>> prepared;
  std::function<void()> before_publish;  // runs once
  int scans_of_sources = 0;              // calls of scan_source()
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
    ++disk_.scans_of_sources;
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
    if (disk_.before_publish) std::exchange(disk_.before_publish, nullptr)();
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
  Result<void> sweep(std::int64_t) override { return {}; }
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

}  // namespace lockkeeper::layout
