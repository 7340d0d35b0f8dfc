// Between the steps: what another tool does at the very moment between our commit and our
// publishing, with the real layouts and the real store, and several requests that are one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/random.h"
#include "base/test_folder.h"
#include "dialect/kinds.h"
#include "host/process.h"
#include "kv/lmdb/lmdb_store.h"
#include "layout/registration.h"
#include "layout/test_table.h"
#include "service/local/local_service.h"
#include "service/locks.h"
#include "support/process.h"

namespace lockkeeper::layouts {
namespace {

namespace fs = std::filesystem;
using core::Outcome;
using layout::Layout;
using service::AcquireCommand;
using service::AcquireResult;
using service::Locks;
using stage::exists;
using stage::read_text;
using stage::write_text;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Somebody else's step right before ours.
using BeforePublish = std::function<void(const std::string& artefact)>;

// A real layout, and a hook before it publishes.
class Interrupted final : public Layout {
 public:
  Interrupted(std::unique_ptr<Layout> inner, const BeforePublish& hook)
      : Layout(inner->entry()), inner_(std::move(inner)), hook_(hook) {}

  Result<layout::ScanResult> scan(const layout::Interest& interest) override {
    return inner_->scan(interest);
  }
  Result<layout::ScanResult> scan_source(const std::string& source) override {
    return inner_->scan_source(source);
  }
  bool scan_after_publishing() const override { return inner_->scan_after_publishing(); }
  layout::Artefacts artefacts(const core::Lease& lease) const override {
    return inner_->artefacts(lease);
  }
  std::string identity(const core::Lease& lease, const std::string& artefact) const override {
    return inner_->identity(lease, artefact);
  }
  Result<void> prepare(const core::Lease& lease, const std::string& artefact) override {
    return inner_->prepare(lease, artefact);
  }
  Result<layout::Published> publish(const core::Lease& lease, const std::string& artefact,
                                    const layout::PublishTerms& terms) override {
    if (hook_) hook_(artefact);
    return inner_->publish(lease, artefact, terms);
  }
  Result<bool> is_prepared(const core::LeaseId& lease, const std::string& artefact) override {
    return inner_->is_prepared(lease, artefact);
  }
  Result<void> discard(const core::LeaseId& lease, const std::string& artefact) override {
    return inner_->discard(lease, artefact);
  }
  Result<void> sweep(std::int64_t idle_ms) override { return inner_->sweep(idle_ms); }
  Result<void> refresh(const core::Lease& lease, const std::string& artefact) override {
    return inner_->refresh(lease, artefact);
  }
  Result<layout::Removed> remove(const std::string& artefact,
                                 const std::string& identity) override {
    return inner_->remove(artefact, identity);
  }

 private:
  const std::unique_ptr<Layout> inner_;
  const BeforePublish& hook_;
};

class Between : public testing::Test {
 protected:
  Between() {
    runtime_.clock = &clock_;
    runtime_.random = &random_;
    runtime_.env = [](const char*) { return std::nullopt; };
    runtime_.make_service = service::local::make_service;
    runtime_.open_store = [this](const layout::StoreRequest& request) {
      return layout::open_test_store(request, clock_, kv::Durability::kProcess);
    };
    for (const auto& [kind, make] : dialect::layout_kinds()) {
      runtime_.layout_kinds[kind] =
          [this, make](const layout::LayoutEntry& entry,
                       const layout::LayoutContext& context) -> Result<std::unique_ptr<Layout>> {
        LK_ASSIGN(std::unique_ptr<Layout> inner, make(entry, context));
        return std::make_unique<Interrupted>(std::move(inner), before_publish_);
      };
    }
    realm_.root = fs::canonical(folder_.path());
    realm_.store_folder = realm_.root + "/.lockkeeper";
    realm_.name = "between";
    settings_.durability.value = realm::Durability::kProcess;
    site_.emplace(runtime_, realm_, settings_);
    for (const char* name : {"spec", "out"}) fs::create_directories(at(name));
    for (const auto& [kind, root] : {std::pair("mkdir", "spec"), std::pair("workflow", "out")}) {
      layout::LayoutEntry entry;
      entry.kind = kind;
      entry.root = at(root);
      EXPECT_TRUE(layout::use_layout(site_->table(), {entry, ""}));
    }
  }

  std::string at(const std::string& name) const { return realm_.root + "/" + name; }
  std::string lock_of(const std::string& name) const { return at("spec/.locks/files/" + name); }

  static AcquireCommand wish(std::vector<std::string> texts) {
    AcquireCommand command;
    command.wanted.texts = std::move(texts);
    command.wanted.base.kind = realm::Base::kRoot;
    return command;
  }
  Locks of(const std::string& agent) { return Locks(*site_, {agent, ""}); }

  // The mkdir document's step.
  void bash_takes(const std::string& name) const {
    fs::create_directories(fs::path(lock_of(name)).parent_path());
    if (fs::create_directory(lock_of(name))) write_text(lock_of(name) + "/owner", "agent: bash\n");
  }
  void workflow_takes(const std::string& file) const {
    fs::create_directories(at("out/locks"));
    write_text(at("out/locks/builder.lock"),
               R"({"agent":"builder","locked_at":"2020-01-01T00:00:00Z","files":[")" + file +
                   R"("],"expires_at":"2999-01-01T00:00:00Z"})");
  }

  std::vector<core::Lease> ours() {
    std::vector<core::Lease> found;
    const auto all = of("").list({});
    EXPECT_TRUE(all);
    for (const service::ListedLease& one : all->leases) {
      if (!one.lease.foreign) found.push_back(one.lease);
    }
    return found;
  }
  // Everything below the two roots that is a file of ours.
  std::vector<std::string> files_of(const std::string& agent) const {
    std::vector<std::string> found;
    for (const char* root : {"spec", "out"}) {
      for (const auto& entry : fs::recursive_directory_iterator(at(root))) {
        if (!entry.is_regular_file()) continue;
        const std::string text = read_text(entry.path());
        if (text.find(agent) != std::string::npos) found.push_back(entry.path());
      }
    }
    return found;
  }

  SystemClock clock_;
  SystemRandom random_;
  TestFolder folder_;
  service::Runtime runtime_;
  realm::Realm realm_;
  realm::Settings settings_;
  BeforePublish before_publish_;
  std::optional<service::Site> site_;
};

TEST_F(Between, I1_WhoeverMakesTheFolderFirstHasIt) {
  before_publish_ = [&](const std::string& artefact) {
    if (artefact == "files/a.c") bash_takes("a.c");
  };
  const auto result = of("ann").acquire(wish({"a.c", "b.c"}));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->outcome, Outcome::kHeld);
  ASSERT_THAT(result->conflicts, SizeIs(1));
  EXPECT_EQ(result->conflicts[0].holder.owner.agent, "bash");
  EXPECT_TRUE(result->conflicts[0].holder.foreign);
  EXPECT_THAT(ours(), IsEmpty()) << "the grant was taken back";
  EXPECT_THAT(files_of("ann"), IsEmpty());
  EXPECT_EQ(read_text(lock_of("a.c") + "/owner"), "agent: bash\n");
  EXPECT_FALSE(exists(lock_of("b.c")));
}

TEST_F(Between, I1_AToolThatChecksAndThenWritesIsSeenAfterwards) {
  before_publish_ = [&](const std::string& artefact) {
    if (artefact.ends_with(".lock")) workflow_takes("a.c");
  };
  const auto result = of("ann").acquire(wish({"a.c"}));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->outcome, Outcome::kHeld);
  ASSERT_THAT(result->conflicts, SizeIs(1));
  EXPECT_EQ(result->conflicts[0].holder.owner.agent, "builder");
  EXPECT_THAT(ours(), IsEmpty());
  EXPECT_THAT(files_of("ann"), IsEmpty());
  EXPECT_TRUE(exists(at("out/locks/builder.lock")));
}

// It came first and went at once: nobody is there, and the second attempt has it.
TEST_F(Between, AForeignLockThatOnlyPassedByCostsOneAttempt) {
  int times = 0;
  before_publish_ = [&](const std::string& artefact) {
    if (artefact != "files/a.c") return;
    if (times++ == 0) bash_takes("a.c");
  };
  AcquireCommand command = wish({"a.c"});
  command.wait_ms = 30'000;
  command.on_wait = [&](const service::WaitProgress&) {
    fs::remove_all(lock_of("a.c"));
    return true;
  };
  const auto result = of("ann").acquire(command);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->outcome, Outcome::kGranted);
  EXPECT_THAT(read_text(lock_of("a.c") + "/owner"), HasSubstr("agent: ann"));
  EXPECT_THAT(ours(), SizeIs(1));
}

TEST_F(Between, I9_IfItCannotBeShownNothingIsGranted) {
  before_publish_ = [&](const std::string& artefact) {
    if (!artefact.ends_with(".lock")) return;
    fs::remove_all(at("out/locks"));
    write_text(at("out/locks"), "no folder");
  };
  const auto result = of("ann").acquire(wish({"a.c"}));
  EXPECT_FALSE(result) << "granted without being shown";
  before_publish_ = {};
  fs::remove(at("out/locks"));
  EXPECT_THAT(ours(), IsEmpty());
  EXPECT_FALSE(exists(lock_of("a.c")));
}

TEST_F(Between, I2_TogetherAllAreGrantedAndShown) {
  const auto results =
      of("boss").acquire_together({{{"ann", ""}, wish({"a.c"})}, {{"bob", ""}, wish({"b.c"})}});
  ASSERT_TRUE(results) << results.error().message;
  for (const AcquireResult& result : *results) EXPECT_EQ(result.outcome, Outcome::kGranted);
  EXPECT_THAT(read_text(lock_of("a.c") + "/owner"), HasSubstr("agent: ann"));
  EXPECT_THAT(read_text(lock_of("b.c") + "/owner"), HasSubstr("agent: bob"));
  EXPECT_THAT(files_of("bob"), SizeIs(2));
}

TEST_F(Between, I2_TogetherNoneIsGrantedWhereAnotherToolHoldsOne) {
  bash_takes("b.c");
  const auto results =
      of("boss").acquire_together({{{"ann", ""}, wish({"a.c"})}, {{"bob", ""}, wish({"b.c"})}});
  ASSERT_TRUE(results) << results.error().message;
  for (const AcquireResult& result : *results) EXPECT_EQ(result.outcome, Outcome::kHeld);
  EXPECT_THAT((*results)[0].conflicts, IsEmpty());
  ASSERT_THAT((*results)[1].conflicts, SizeIs(1));
  EXPECT_EQ((*results)[1].conflicts[0].holder.owner.agent, "bash");
  EXPECT_THAT(ours(), IsEmpty());
  EXPECT_THAT(files_of("ann"), IsEmpty());
}

TEST_F(Between, I2_TogetherNoneIsGrantedWhereAnotherToolComesFirst) {
  before_publish_ = [&](const std::string& artefact) {
    if (artefact == "files/b.c") bash_takes("b.c");
  };
  const auto results =
      of("boss").acquire_together({{{"ann", ""}, wish({"a.c"})}, {{"bob", ""}, wish({"b.c"})}});
  ASSERT_TRUE(results) << results.error().message;
  for (const AcquireResult& result : *results) EXPECT_EQ(result.outcome, Outcome::kHeld);
  EXPECT_THAT(ours(), IsEmpty());
  EXPECT_THAT(files_of("ann"), IsEmpty());
  EXPECT_EQ(read_text(lock_of("b.c") + "/owner"), "agent: bash\n");
}

TEST_F(Between, I2_I9_TogetherNoneIsGrantedWhereOneCannotBeShown) {
  int locks = 0;
  before_publish_ = [&](const std::string& artefact) {
    if (!artefact.ends_with(".lock") || ++locks != 2) return;
    fs::remove_all(at("out/locks"));
    write_text(at("out/locks"), "no folder");
  };
  const auto results =
      of("boss").acquire_together({{{"ann", ""}, wish({"a.c"})}, {{"bob", ""}, wish({"b.c"})}});
  EXPECT_FALSE(results);
  before_publish_ = {};
  fs::remove(at("out/locks"));
  EXPECT_THAT(ours(), IsEmpty()) << "some of them";
  EXPECT_FALSE(exists(lock_of("a.c")));
  EXPECT_FALSE(exists(lock_of("b.c")));
}

}  // namespace
}  // namespace lockkeeper::layouts
