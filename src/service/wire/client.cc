#include "base/bytes.h"
#include "service/wire/codec.h"
#include "service/wire/wire.h"

namespace lockkeeper::service::wire {
namespace {

constexpr int kTriesMax = 5;
constexpr std::int64_t kRetryWithinMs = 3'000;  // a caller that keeps a lease must not hang

class Client final : public Service {
 public:
  Client(Exchange exchange, const Clock& clock, Random& random)
      : exchange_(std::move(exchange)), clock_(clock), random_(random) {}

  Result<OpenReply> open(const OpenCall& call) override { return ask<OpenReply>("open", call); }

  Result<Reply<AcquireResult>> acquire(const AcquireCall& call) override {
    return ask<Reply<AcquireResult>>("acquire", with_id(call));
  }
  Result<Reply<std::vector<AcquireResult>>> acquire_together(
      const std::vector<AcquireCall>& calls) override {
    std::vector<AcquireCall> named;
    for (const AcquireCall& call : calls) named.push_back(with_id(call));
    return ask<Reply<std::vector<AcquireResult>>>("acquire_together", named);
  }
  Result<Reply<AcquireResult>> await(const AwaitCall& call) override {
    return ask<Reply<AcquireResult>>("await", call);
  }
  Result<Reply<AcquireResult>> leave(const LeaveCall& call) override {
    return ask<Reply<AcquireResult>>("leave", with_id(call));
  }
  Result<Reply<core::ReleaseReply>> release(const ReleaseCall& call) override {
    return ask<Reply<core::ReleaseReply>>("release", with_id(call));
  }
  Result<Reply<std::vector<core::Lease>>> renew(const RenewCall& call) override {
    return ask<Reply<std::vector<core::Lease>>>("renew", with_id(call));
  }
  Result<Reply<core::CheckReply>> check(const CheckCall& call) override {
    return ask<Reply<core::CheckReply>>("check", call);
  }
  Result<Reply<ListReply>> list(const ListCall& call) override {
    return ask<Reply<ListReply>>("list", call);
  }
  Result<Reply<std::vector<core::Lease>>> break_leases(const BreakCall& call) override {
    return ask<Reply<std::vector<core::Lease>>>("break", with_id(call));
  }
  Result<Reply<AcquireResult>> adopt(const AdoptCall& call) override {
    return ask<Reply<AcquireResult>>("adopt", with_id(call));
  }
  Result<Reply<core::ReportReply>> report(const ReportCall& call) override {
    return ask<Reply<core::ReportReply>>("report", call);
  }
  Result<Reply<std::vector<core::Trace>>> unseen(const UnseenCall& call) override {
    return ask<Reply<std::vector<core::Trace>>>("unseen", with_id(call));
  }
  Result<Reply<LookReply>> look(const LookCall& call) override {
    return ask<Reply<LookReply>>("look", call);
  }
  Result<Reply<Done>> forget(const ForgetCall& call) override {
    return ask<Reply<Done>>("forget", call);
  }
  Result<Reply<std::vector<core::Message>>> send(const SendCall& call) override {
    return ask<Reply<std::vector<core::Message>>>("send", with_id(call));
  }
  Result<Reply<std::vector<core::Message>>> messages(const MessagesCall& call) override {
    return ask<Reply<std::vector<core::Message>>>("messages", with_id(call));
  }
  Result<Notices> notices(const Caller& caller) override { return ask<Notices>("notices", caller); }
  Result<Reply<std::vector<core::Event>>> events(const EventsCall& call) override {
    return ask<Reply<std::vector<core::Event>>>("events", call);
  }
  Result<Reply<Done>> purge(const PurgeCall& call) override {
    return ask<Reply<Done>>("purge", call);
  }

 private:
  template <typename Call>
  Call with_id(Call call) {
    if (call.caller.request_id.empty()) {
      std::string bytes;
      append_be64(bytes, random_.next());
      append_be64(bytes, random_.next());
      call.caller.request_id = "wire:" + to_hex(bytes);
    }
    return call;
  }

  template <typename Answer, typename Call>
  Result<Answer> ask(const char* name, const Call& call) {
    const std::string request = line_of({{"call", name}, {"with", to_json(call, clock_)}});
    const std::int64_t began_ms = clock_.now().mono_ms;
    for (int tries = 1;; ++tries) {
      const auto line = exchange_(request);
      Result<Answer> answer = line ? answer_in<Answer>(*line) : fail(Error(line.error()));
      const bool late = clock_.now().mono_ms - began_ms > kRetryWithinMs;
      const bool lost = !line && line.error().code == Code::kUnknown;
      if (lost && tries < kTriesMax && !late) continue;
      // An earlier try may have been carried out.
      const bool unsure = tries > 1 && !answer && answer.error().code == Code::kStoreUnavailable;
      if (unsure) answer.error().code = Code::kUnknown;
      return answer;
    }
  }

  // A reply that cannot be read says nothing about what was done.
  template <typename Answer>
  Result<Answer> answer_in(const std::string& line) {
    const auto json = json_of(line);
    const bool is_object = json && json->is_object();
    if (is_object && json->contains("reply")) {
      if (auto answer = from_json<Answer>((*json)["reply"], clock_)) return answer;
    } else if (is_object && json->contains("error")) {
      if (auto error = from_json<Error>((*json)["error"], clock_)) return fail(std::move(*error));
    }
    return fail(Code::kUnknown, "the lock service's reply cannot be read",
                "use the same version of lockkeeper on both sides");
  }

  const Exchange exchange_;
  const Clock& clock_;
  Random& random_;
};

}  // namespace

std::unique_ptr<Service> make_client(Exchange exchange, const Clock& clock, Random& random) {
  return std::make_unique<Client>(std::move(exchange), clock, random);
}

}  // namespace lockkeeper::service::wire
