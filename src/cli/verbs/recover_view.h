// What `recover` shows: JSON, and tables for people.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"
#include "cli/verbs/recover_data.h"

namespace lockkeeper::cli {

// {"agent","session"}, or null if nobody knows.
service::Json who_json(const snapshot::Who& who);
service::Json version_json(const snapshot::Version& version, const snapshot::Who& writer);
service::Json loss_json(const snapshot::Loss& loss);
service::Json stash_json(const KeptStash& stash);

// `root`: the worktree whose files need no folder before their names. At a terminal (`columns` > 0)
// that a row does not fit into, a second line says whose it was and who changed it.
std::vector<Line> loss_lines(const std::vector<snapshot::Loss>& losses, const std::string& root,
                             std::int64_t now_wall_ms, std::size_t columns);
struct KnownVersion {
  snapshot::Version version;
  snapshot::Who writer;
};
std::vector<Line> version_lines(const std::vector<KnownVersion>& versions, std::int64_t now_wall_ms,
                                std::size_t columns);
std::string stash_text(const KeptStash& stash, std::int64_t now_wall_ms);

// As one would type it here.
std::string file_text(const KeptFile& file, const std::string& root);
// Eight digits of an id: enough to type.
std::string short_version(const snapshot::Version& version);

}  // namespace lockkeeper::cli
