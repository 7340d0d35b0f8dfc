// The lock service: the one interface between the doors (command line, MCP, dialects, workflows,
// the embedded library) and whatever decides about locks. The table on this machine is one
// implementation (service/local); a client of a service elsewhere is another (service/wire).
//
// Every call makes sense as one network request: plain data in, plain data out, no callbacks. The
// caller's machine keeps what needs its disk and its processes: realm, identity, turning words into
// resources, starting commands. The service keeps what everyone must agree on: key rules, policy,
// limits, queue, history, messages.
//
// A refusal (held, deadlock, timeout) is a reply. An Error means that nothing was done, except for
// `unknown`: then the caller cannot tell. Repeating the call with its request id settles it.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <vector>

#include "base/error.h"
#include "service/calls.h"
#include "service/edit_calls.h"
#include "service/replies.h"

namespace lockkeeper::service {

class Service {
 public:
  virtual ~Service() = default;

  // First. invalid_input: the client's key rules differ, so that it would name other resources.
  virtual Result<OpenReply> open(const OpenCall& call) = 0;

  virtual Result<Reply<AcquireResult>> acquire(const AcquireCall& call) = 0;
  // All in one commit, or none: then every result is a refusal, or would have been granted alone
  // and says kHeld without conflicts. One result for each call, in their order. The notices are for
  // the first caller. `wait` is ignored.
  virtual Result<Reply<std::vector<AcquireResult>>> acquire_together(
      const std::vector<AcquireCall>& calls) = 0;
  virtual Result<Reply<AcquireResult>> await(const AwaitCall& call) = 0;
  virtual Result<Reply<AcquireResult>> leave(const LeaveCall& call) = 0;

  virtual Result<Reply<core::ReleaseReply>> release(const ReleaseCall& call) = 0;
  virtual Result<Reply<std::vector<core::Lease>>> renew(const RenewCall& call) = 0;
  virtual Result<Reply<core::CheckReply>> check(const CheckCall& call) = 0;
  virtual Result<Reply<ListReply>> list(const ListCall& call) = 0;
  virtual Result<Reply<std::vector<core::Lease>>> break_leases(const BreakCall& call) = 0;
  virtual Result<Reply<AcquireResult>> adopt(const AdoptCall& call) = 0;

  virtual Result<Reply<core::ReportReply>> report(const ReportCall& call) = 0;
  virtual Result<Reply<std::vector<core::Trace>>> unseen(const UnseenCall& call) = 0;
  virtual Result<Reply<LookReply>> look(const LookCall& call) = 0;
  virtual Result<Reply<Done>> forget(const ForgetCall& call) = 0;

  // One message for each receiver, as it was sent.
  virtual Result<Reply<std::vector<core::Message>>> send(const SendCall& call) = 0;
  virtual Result<Reply<std::vector<core::Message>>> messages(const MessagesCall& call) = 0;
  // Nothing but what `caller.tell` asks for.
  virtual Result<Notices> notices(const Caller& caller) = 0;

  virtual Result<Reply<std::vector<core::Event>>> events(const EventsCall& call) = 0;
  // Ends what is over and forgets what is old.
  virtual Result<Reply<Done>> purge(const PurgeCall& call) = 0;
};

}  // namespace lockkeeper::service
