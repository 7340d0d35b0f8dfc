// Who runs this hook, and in which repositories.
//
// The owner comes from the payload alone. Each path belongs to the worktree that it lies in,
// wherever the session was started; the session's own folder is only where it says that a turn is
// over.
//
// REQUIRES: one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "enforce/event.h"
#include "enforce/hook/hook.h"
#include "enforce/tools.h"
#include "service/locks.h"
#include "service/names.h"
#include "snapshot/keeper.h"

namespace lockkeeper::enforce::hook {

// One file that a call names.
struct Target {
  std::string typed;
  std::vector<key::Resource> resources;  // what is claimed for it; the first is its own name
  bool replaced = false;                 // its whole content goes
  std::string path() const;              // from the worktree's root, as in a trace
};

// A worktree, its rules, and its locks in the owner's name.
class Place {
 public:
  Place(const service::Runtime& runtime, realm::Realm realm, realm::Settings settings,
        std::vector<Error> mistakes, const core::Owner& owner, service::ParentLease parent);

  const realm::Realm& realm() const { return site_.realm(); }
  // Without what is wrong in them: that is enough to give back, but not to judge an edit.
  const realm::Settings& settings() const { return site_.settings(); }
  const std::vector<Error>& mistakes() const { return mistakes_; }
  bool is_settings_file(const std::string& absolute) const;
  const std::string& worktree() const { return realm().root; }
  service::Site& site() { return site_; }
  service::Locks& locks() { return locks_; }
  // Only then may a hook that only looks open it: nothing is created for nothing.
  bool has_table() const;
  // Is the call refused when this went wrong? (hook.on_failure, hook.offline)
  bool blocks_after(const Error& error) const;

  // Keeps versions of its files; null: the settings say no, or there is no table yet.
  snapshot::Keeper* keeper();
  // The first trouble with it counts.
  void note_kept(const Result<void>& kept);
  std::optional<Error> take_unkept() { return std::exchange(unkept_, std::nullopt); }
  // Since it was first asked.
  std::int64_t keeping_ms(std::int64_t now_mono_ms);
  // How many files have been asked for, this one included.
  int next_kept() { return ++kept_; }

 private:
  const std::vector<Error> mistakes_;  // of the settings
  service::Site site_;
  service::Locks locks_;
  std::unique_ptr<snapshot::Keeper> keeper_;
  std::optional<Error> unkept_;
  std::int64_t keeps_since_mono_ms_ = 0;  // 0: not yet
  int kept_ = 0;
};

// A place with those files of one call that are in it.
struct Targets {
  Place* place = nullptr;
  std::vector<Target> files;
};

struct Sorted {
  std::vector<Targets> places;
  std::vector<std::string> outside;  // in no repository: nothing guards them
};

class Session {
 public:
  Session(const World& world, const Event& event);
  // For a command that no hook tells of. REQUIRES: `identities` is not empty. The first is the
  // owner.
  Session(const World& world, const Event& event, std::vector<core::Owner> identities);

  const Event& event() const { return event_; }
  const World& world() const { return world_; }
  const core::Owner& owner() const { return owner_; }
  // All names under which this agent may have taken locks: its own, and that of the `run` that it
  // works in.
  const std::vector<core::Owner>& identities() const { return identities_; }
  const std::string& folder() const { return folder_; }  // where its commands run; absolute
  Now now() const { return world_.runtime->clock->now(); }

  // invalid_input: a name of the payload cannot be a session's.
  Result<void> check() const;

  // The worktree that the session was started in; null: it is in no repository. An error: the
  // repository cannot be read. If only its settings have a mistake, the place says so.
  Result<Place*> home();

  // The files of the call, without those that the settings ignore or switch off. An error names the
  // path: it cannot be judged.
  Result<Sorted> sort(const Touch& touch);
  Result<Place*> place_at(const std::string& root);

  // What the files of a place are called in what this session reads: by their paths from its home,
  // or by their whole paths.
  service::Names names_of(const Place& place);

  // What the tools of this session do, by the settings of its home.
  Result<Touch> touch_of(const ToolCall& call);

  // The same for every moment of one call.
  static std::string edit_id(const ToolCall& call) { return "edit " + call.id; }
  static std::string run_id(const ToolCall& call) { return "run " + call.id; }

 private:
  Result<Place*> place_of(const realm::Realm& realm);

  const World& world_;
  const Event& event_;
  core::Owner owner_;
  std::vector<core::Owner> identities_;
  std::string folder_;                                    // what relative paths begin at
  std::string home_folder_;                               // where the session was started
  std::map<std::string, std::unique_ptr<Place>> places_;  // by root
};

// When calls of this session began, by the clock of the wall.
std::int64_t wall_ms_of(const Session& session, std::int64_t mono_ms);
// The first of them; now if there is none.
std::int64_t begun_wall_ms(const Session& session, const std::vector<core::RunningCall>& calls);
// Surely not later: what a hub says of it is late by as long as its answer takes.
std::int64_t begun_wall_ms(const Session& session, Place& place,
                           const std::vector<core::RunningCall>& calls);

// Other worktrees of the repository in which this session, or a part of it, has claims or traces.
std::vector<Place*> other_places(Session& session, Place& home);

// What every claim of this session in that place has: its process and its owner's turn end it; time
// alone should not.
service::AcquireCommand edit_command(const Session& session, const Place& place);

}  // namespace lockkeeper::enforce::hook
