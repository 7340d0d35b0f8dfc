// CoordMCP's tools over Lockkeeper's table: typed arguments in, CoordMCP's JSON out. The command
// line and MCP call these. CoordMCP's design record (ADR-0005) and the real system differ: where
// they name a key differently, the JSON has both (`file` and `file_path`, `expected_unlock` and
// `expected_unlock_time`); where their texts differ, it has the ADR's.
//
// Thread safety: none; one Calls for one request.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dialect/coordmcp/coordmcp_layout.h"
#include "service/locks.h"

namespace lockkeeper::dialect::coordmcp {

// CoordMCP's environment variables.
struct Config {
  std::string data_dir;              // COORDMCP_DATA_DIR, or ~/.coordmcp/data
  std::string timeout_hours = "24";  // COORDMCP_LOCK_TIMEOUT_HOURS
  std::int64_t timeout_ms = 24LL * 3'600'000;
  std::size_t max_locks = 100;  // COORDMCP_MAX_FILE_LOCKS_PER_AGENT
  bool auto_cleanup = true;     // COORDMCP_AUTO_CLEANUP_STALE_LOCKS
};
Result<Config> read_config(const realm::Environment& env);

struct LockFiles {
  std::string agent_id;
  std::string project_id;
  std::vector<std::string> files;
  std::string reason;
  int expected_duration_minutes = 60;   // shown, never enforced
  std::optional<std::int64_t> wait_ms;  // our addition: wait in the queue instead of being refused
  std::function<bool(const service::WaitProgress&)> on_wait;
};
// Of unlock_files and get_free_files.
struct Files {
  std::string agent_id;
  std::string project_id;
  std::vector<std::string> files;
};
struct SendMessage {
  std::string from_agent_id;
  std::string to_agent_id;  // "broadcast": everybody
  std::string project_id;
  std::string content;
  std::string message_type = "update";  // an unknown type becomes update, with a warning
  std::string related_task_id;
};
struct GetMessages {
  std::string agent_id;
  std::string project_id;
  bool unread_only = false;
  int limit = 50;
};

// When the holders of the original's own entries expect to be done, by artefact.
using Expected = std::map<std::string, LocalTime>;

struct Reply {
  Json json;
  std::optional<Code> failure;  // for an exit status; nullopt: success
};

class Calls {
 public:
  // All must outlive it. `session` is the caller's, "" for none.
  Calls(service::Site& table, Config config, std::string session = {})
      : site_(table), config_(std::move(config)), session_(std::move(session)) {}

  // reply_of() turns an error into CoordMCP's form.
  Result<Reply> lock_files(const LockFiles& call);
  Result<Reply> unlock_files(const Files& call);
  // Without a project ("") they are about all that this realm has.
  Result<Reply> get_locked_files(const std::string& project_id);
  Result<Reply> cleanup_stale_locks(const std::string& project_id);
  // Removes expired entries of all projects, if auto_cleanup says so; returns their number. For
  // servers: when they start and from time to time. The calls above do it for themselves.
  Result<int> cleanup_all();
  // Our addition: which of these are free now, and who holds the others.
  Result<Reply> get_free_files(const Files& call);
  Result<Reply> send_message(const SendMessage& call);
  Result<Reply> get_messages(const GetMessages& call);
  Result<Reply> mark_message_read(const std::string& agent_id, const std::string& message_id);

 private:
  // A file as requested, and its resource.
  struct RequestedFile {
    std::string text;
    key::Resource resource;
  };
  // The layout of this realm and project.
  struct Store {
    std::unique_ptr<layout::Layout> layout;
    bool joined = false;  // it is registered: the original's locks are in the table
    int removed = 0;      // expired entries, when it was opened
    CoordLayout& coord() const { return static_cast<CoordLayout&>(*layout); }
  };
  std::int64_t ttl_ms() const;
  void tell_terms(const service::AcquireResult& result, const std::string& layout,
                  Json& json) const;
  Result<layout::LayoutEntry> entry_for(const std::string& project_id) const;
  layout::LayoutContext context() const;
  // Registered on first use.
  Result<Store> open(const std::string& project_id);
  // To be read only: registers and creates nothing.
  Result<Store> look(const std::string& project_id);
  Result<std::vector<RequestedFile>> resolve(const Store& store,
                                             const std::vector<std::string>& files);
  service::Wanted wanted(const Store& store, const std::vector<RequestedFile>& asked) const;
  Result<service::Locks> locks(const core::Owner& owner) const;
  Result<std::vector<core::Lease>> own_leases(const core::Owner& owner);
  Result<std::vector<core::Lease>> foreign_leases(const std::vector<RequestedFile>& asked);
  // Entries that the original made for this very agent become its leases here.
  Result<void> adopt_own(const Store& store, const core::Owner& owner,
                         const std::vector<RequestedFile>& asked);
  struct Held {
    std::vector<core::Lease> replaced, renewed;
  };
  Result<Held> held_of(const core::Owner& owner, const std::vector<RequestedFile>& asked);
  Result<void> split(const core::Lease& lease, const std::vector<RequestedFile>& asked);
  Result<Expected> expected(const Store& store) const;
  Result<Reply> refused(const Store& store, const std::vector<RequestedFile>& asked,
                        const std::vector<core::Conflict>& conflicts) const;
  Result<void> add_entries(const Store& store, const std::string& agent_id,
                           const std::vector<RequestedFile>& asked, Json& taken, Json& free) const;
  Result<Reply> not_granted(const Store& store, const std::vector<RequestedFile>& asked,
                            const service::AcquireResult& result);
  Result<core::Owner> receiver(const std::string& to);
  void add_messages(const core::Owner& owner, Json& json);
  core::Owner owner(const std::string& agent_id) const { return {agent_id, session_}; }

  service::Site& site_;
  const Config config_;
  const std::string session_;
};

// The project that a call means: its id, or its name if that can be an id; "": none.
std::string project_of(const std::string& project_id, const std::string& project_name);

// {"success":false,"error":…,"error_type":…}.
Reply failure(Code code, const std::string& type, const std::string& text);
Reply from_error(const Error& error);
Reply reply_of(Result<Reply> reply);

}  // namespace lockkeeper::dialect::coordmcp
