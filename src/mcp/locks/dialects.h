// The tools of CoordMCP and of the coordinator, with their own names, arguments and results, over
// the same table. src/dialect implements them; this is their MCP side. Their locks end by their ttl
// only.
//
// A refusal is a result in their form (`success` false), never an MCP error.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "dialect/coordinator/ports.h"
#include "dialect/coordmcp/calls.h"
#include "mcp/catalogue.h"
#include "mcp/locks/ownership.h"

namespace lockkeeper::mcp::locks {

// usage for an unknown name; the hint lists the known ones.
Result<void> check_dialects(const std::vector<std::string>& names);

class Dialects {
 public:
  // All must outlive it.
  Dialects(service::Site& table, const Ownership& ownership, service::ParentLease under)
      : site_(table), ownership_(ownership), under_(std::move(under)) {}

  // In listing order; empty for an unknown name. They use this object. With CoordMCP's, its expired
  // locks are removed now and from time to time, as its server does.
  std::vector<Tool> tools(const std::string& dialect);

 private:
  using Method = Answer (Dialects::*)(Call&, const Json&);
  Tool with(Tool tool, Method method);
  std::vector<Tool> coordmcp_tools();
  std::vector<Tool> coordinator_tools();

  Answer lock_files(Call& call, const Json& arguments);
  Answer unlock_files(Call& call, const Json& arguments);
  Answer get_locked_files(Call& call, const Json& arguments);
  Answer cleanup_stale_locks(Call& call, const Json& arguments);
  Answer send_message(Call& call, const Json& arguments);
  Answer get_messages(Call& call, const Json& arguments);
  Answer mark_message_read(Call& call, const Json& arguments);
  Answer get_free_files(Call& call, const Json& arguments);
  Answer acquire_lock(Call& call, const Json& arguments);
  Answer release_lock(Call& call, const Json& arguments);
  Answer check_locks(Call& call, const Json& arguments);
  Answer allocate_ports(Call& call, const Json& arguments);
  Answer release_ports(Call& call, const Json& arguments);
  Answer ports_status(Call& call, const Json& arguments);

  using Reply = dialect::coordmcp::Reply;
  Result<Reply> in_workspace(const Json& arguments,
                             const std::function<Result<Reply>()>& ask) const;
  void clean_from_time_to_time(const std::stop_token& stop);
  Answer coordmcp(const std::function<Result<Reply>(dialect::coordmcp::Calls&)>& action) const;
  Result<service::Locks> coordinator_locks(const Call& call, const Json& arguments) const;
  std::string agent_type(const Json& arguments) const;
  Result<dialect::coordinator::Ports> ports();

  service::Site& site_;
  const Ownership& ownership_;
  const service::ParentLease under_;
  std::mutex mutex_;                        // protects what is below
  std::unique_ptr<service::Site> machine_;  // for ports; opened on first use
  std::condition_variable_any stopping_;
  std::jthread cleaning_;  // last: it uses the rest
};

}  // namespace lockkeeper::mcp::locks
