// `completion`: scripts for three shells, made from the verbs' declarations.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/completion.h"
#include "cli/verbs/verbs.h"
#include "layout/registry.h"
#include "service/names.h"

namespace lockkeeper::cli {
namespace {

using Offers = std::set<std::string>;

// A resource as one would type it in the current folder. Outside of the realm that --realm names,
// paths begin at its root.
std::string as_typed(const std::string& folder, const realm::Realm& realm,
                     const key::Resource& resource) {
  const std::string& root = realm.root;
  if (!resource.is_path() || folder == root || !realm.contains(folder)) return resource.text();
  const std::filesystem::path whole = std::filesystem::path(root) / resource.text();
  return whole.lexically_normal().lexically_relative(folder).string();
}

void add_resources(const VerbContext& context, const OpenLocks& open,
                   const service::ListReply& reply, bool only_own, Offers& offers) {
  const auto here = context.wanted({});
  for (const service::ListedLease& listed : reply.leases) {
    if (only_own && !listed.lease.held_by(open.locks.owner())) continue;
    for (const core::Claim& claim : service::spelled_claims(listed.lease)) {
      offers.insert(as_typed(here ? here->base.folder : "", open.site.realm(), claim.resource));
    }
  }
}

void add_agents(const service::ListReply& reply, Offers& offers) {
  for (const service::ListedLease& listed : reply.leases) offers.insert(listed.lease.owner.agent);
  for (const core::Waiter& waiter : reply.waiters) offers.insert(waiter.request.owner.agent);
}

void add_leases(const OpenLocks& open, const service::ListReply& reply, bool only_own,
                Offers& offers) {
  for (const service::ListedLease& listed : reply.leases) {
    if (only_own && !listed.lease.held_by(open.locks.owner())) continue;
    offers.insert(listed.lease.id.text());
  }
}

enum class Asked { kAgents, kHeld, kTaken, kOwnLeases, kLeases, kLayouts };

// For the scripts: what they may offer now, one per line. Silent on errors.
template <Asked asked>
Result<int> completion_offers(VerbContext& context) {
  if (const auto status = context.parse()) return *status;
  context.allow_bad_settings();
  auto open = context.open(std::vector<std::string>{});
  if (!open) return 0;
  Offers offers;
  if (asked == Asked::kLayouts) {
    const service::Site& site = (*open)->site;
    const auto layouts = layout::load_layouts(site.realm(), site.settings());
    if (!layouts) return 0;
    for (const layout::LayoutEntry& entry : *layouts) offers.insert(entry.id());
  } else {
    service::ListCommand command;
    command.scan_layouts = false;  // a look at other tools' files may take long, and writes
    const auto reply = (*open)->locks.list(command);
    if (!reply) return 0;
    if (asked == Asked::kAgents) add_agents(*reply, offers);
    if (asked == Asked::kHeld || asked == Asked::kTaken) {
      add_resources(context, **open, *reply, asked == Asked::kHeld, offers);
    }
    if (asked == Asked::kLeases || asked == Asked::kOwnLeases) {
      add_leases(**open, *reply, asked == Asked::kOwnLeases, offers);
    }
  }
  for (const std::string& offer : offers) context.out().text(offer);
  return 0;
}

template <std::string script(const VerbShape&)>
Result<int> completion_script(VerbContext& context) {
  if (const auto status = context.parse()) return *status;
  const std::string text = script(program_shape(context.environment()));
  context.out().object({{"script", text}});
  if (!context.out().json()) std::fputs(text.c_str(), context.environment().out);
  return 0;
}

constexpr Verb kCompletionSubcommands[] = {
    {"bash", "A script for bash",
     "  lockkeeper completion bash > /etc/bash_completion.d/lockkeeper\n",
     completion_script<bash_completion>, Does::kLook},
    {"zsh", "A script for zsh", "  lockkeeper completion zsh > ~/.zfunc/_lockkeeper\n",
     completion_script<zsh_completion>, Does::kLook},
    {"fish", "A script for fish",
     "  lockkeeper completion fish > ~/.config/fish/completions/lockkeeper.fish\n",
     completion_script<fish_completion>, Does::kLook},
    {"agents", {}, {}, completion_offers<Asked::kAgents>, Does::kLook},
    {"held", {}, {}, completion_offers<Asked::kHeld>, Does::kLook},
    {"taken", {}, {}, completion_offers<Asked::kTaken>, Does::kLook},
    {"own-leases", {}, {}, completion_offers<Asked::kOwnLeases>, Does::kLook},
    {"leases", {}, {}, completion_offers<Asked::kLeases>, Does::kLook},
    {"layouts", {}, {}, completion_offers<Asked::kLayouts>, Does::kLook},
};

}  // namespace

std::span<const Verb> completion_subcommands() {
  return kCompletionSubcommands;
}

}  // namespace lockkeeper::cli
