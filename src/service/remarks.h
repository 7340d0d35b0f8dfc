// What people should know about a request although no rule of the table depends on it: names that
// nothing on disk has yet, repositories inside repositories, leases of others that it works inside.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "service/commands.h"
#include "service/site.h"

namespace lockkeeper::service {

struct Remarks {
  std::vector<std::string> unmatched;  // as typed: nothing has that name yet
  // What the first of them may have been meant to be: a canonical text; empty: no idea.
  std::string meant = {};
  // If that is its name from the root, which the asker is not at: what it is from there, and who
  // else holds what was meant.
  std::string read_as = {};
  std::string meant_holder = {};
  std::vector<std::string> warnings;  // sentences
};

// Perhaps a typing mistake. `words`: what each text of `wanted` stands for. A pattern is judged by
// its folder alone, because to look for a match could take as long as the disk is large.
void add_unmatched(Remarks& remarks, Site& site, const core::Owner& owner, const Wanted& wanted,
                   std::span<const std::vector<key::Resource>> words);

// Each repository has its own table. What others hold in the ones around this realm, and which ones
// lie inside of what is asked for: there, the request excludes nobody.
void add_nested(Remarks& remarks, const Site& site, const core::Owner& owner, core::Mode mode,
                std::span<const key::Resource> resources);

// Whoever is a part of another agent's session works inside that one's leases. It may be so by
// accident: a session "build-7/2" is a part of "build-7". `starter`: who is known to have started
// the owner; not worth a word.
void add_inside(Remarks& remarks, Site& site, const core::Owner& owner, const core::Owner& starter,
                core::Mode mode, std::span<const key::Resource> resources);

// The owner's own leases on the same files in the realm around this one, from before this one was
// there: "your lease on sub/x is one of …: lockkeeper release …". Empty: none.
std::string own_outer_lease(const Site& site, const core::Owner& owner,
                            std::span<const key::Resource> resources);

// Folders without git become realms as they are first used, by accident as well. So what another
// owner holds in such a one around or inside this one refuses the request (held). The two tables
// are still two: only what is there when it is asked for is seen.
Result<void> check_plain_neighbours(const Site& site, const core::Owner& owner,
                                    std::span<const core::Claim> claims);

}  // namespace lockkeeper::service
