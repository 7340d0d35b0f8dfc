#include "crew/lock_files.h"

#include <algorithm>

#include "core/encoding.h"
#include "crew/orders.h"
#include "layout/cleaner.h"
#include "layout/registration.h"
#include "layout/registry.h"

namespace lockkeeper::crew {
namespace {

constexpr const char* kKind = "workflow";
constexpr const char* kMark = ".locks-shown";  // this run registered the layout

constexpr std::size_t kLeaseBytesMax = 16U << 20;

// The lease of an attempt; nullopt: it got none, or another version wrote it.
Result<std::optional<core::Lease>> noted_lease(const Folder& attempt) {
  LK_ASSIGN(const auto text, attempt.read(kLeaseName, kLeaseBytesMax));
  const std::size_t end = text ? text->find('\n') : std::string::npos;
  if (end == std::string::npos) return std::nullopt;
  const auto id = core::LeaseId::from_text(std::string_view(*text).substr(0, end));
  if (!id) return std::nullopt;
  auto lease = core::decode_lease(*id, std::string_view(*text).substr(end + 1), kv::Version{0});
  return lease ? std::optional(std::move(*lease)) : std::nullopt;
}

}  // namespace

Result<void> note_lease(const Folder& attempt, const core::Lease& lease) {
  return attempt.write(kLeaseName, lease.id.text() + "\n" + core::encode_lease(lease));
}

Result<void> forget_lost(service::Site& site, const Folder& attempt) {
  if (site.server() != nullptr) return {};  // nothing of it is shown here
  LK_ASSIGN(const std::optional<core::Lease> lease, noted_lease(attempt));
  if (!lease) return {};
  return layout::forget_lost(site.table(), *lease);
}

Result<void> LockFiles::show(service::Site& site, const Folder& output,
                             const std::string& session) {
  // Lock files are for other tools that share a table on this machine.
  if (!site.runtime().layout_kinds.contains(kKind) || site.server() != nullptr) return {};
  LK_ASSIGN(const auto layouts, layout::load_layouts(site.realm(), site.settings()));
  layout::UseLayout use;
  use.entry.kind = kKind;
  use.entry.root = output.path();
  use.exclude = "*";  // all of OUTPUT stays out of `git status`
  const auto there = std::ranges::find_if(layouts, [&](const layout::LayoutEntry& each) {
    return each.kind == use.entry.kind && each.root == use.entry.root;
  });
  const bool known = there != layouts.end();
  // What the settings say is not changed.
  if (!known || there->origin.file.empty()) use.entry.options["run"] = session;
  // Marked first: after a kill the next foreman must know that the run registered it.
  if (!known) {
    LK_CHECK(output.write(kMark, ""));
  }
  LK_ASSIGN(std::string id, layout::use_layout(site.table(), std::move(use)));
  LK_ASSIGN(const bool marked, output.has(kMark));
  if (!known || marked) layout_ = std::move(id);
  return {};
}

Result<void> LockFiles::hide(service::Site& site, const Folder& output) {
  if (layout_.empty()) return {};
  LK_CHECK(layout::remove_layout(site.table(), layout_));
  static_cast<void>(output.remove("locks"));  // fails if files of others are in it
  static_cast<void>(output.remove(kMark));
  return {};
}

}  // namespace lockkeeper::crew
