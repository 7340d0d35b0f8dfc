// How it stands with the coding agents in which our hooks are installed, and a real refusal by each
// of them: for `doctor` and `init`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/context.h"
#include "cli/verbs/check_list.h"
#include "install/proof.h"
#include "realm/hook_settings.h"

namespace lockkeeper::cli {

// The name under which the proof holds its file.
inline constexpr std::string_view kDoctorAgent = "lockkeeper-doctor";

// What the doctor says about one proof.
struct Judged {
  enum class Kind { kGood, kNote, kBad };
  Kind kind = Kind::kBad;
  std::string message;
  std::string hint = {};
};
using ProofPolicy = realm::Setting<realm::HookPolicy>;
// `file` is what the proof holds, `policy` what the settings say, and `again` the command that
// installs the hook again.
Judged judge_proof(const install::ReadVerdict& read, std::int64_t took_ms, const std::string& file,
                   const ProofPolicy& policy, const std::string& again);

// Adds lines to the list, and "clients" to its object. Only reads, except for the proof: while it
// lasts, a file that does not exist is held. Nothing is started outside of repositories, with
// --store, nor if the list has something broken already. Returns 0, or the exit status of the
// signal that ended it.
int check_clients(VerbContext& context, const realm::Realm& realm, CheckList& list);

}  // namespace lockkeeper::cli
