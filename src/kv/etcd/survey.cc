#include "kv/etcd/survey.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kv/etcd/ask.h"
#include "kv/etcd/keys.h"
#include "kv/etcd/version_page.h"

namespace lockkeeper::kv::etcd {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kOpsMost = 128;  // of etcd's --max-txn-ops, if nobody has changed it

// A transaction of `size` compares and as many operations. Nothing was ever created before version
// 0, so it never happens; but it has a write, so it is committed like any other.
TxnRequest impossible(const std::string& key, std::size_t size) {
  Compare never;
  never.target = Compare::Target::kCreate;
  never.result = Compare::Result::kLess;
  never.key = key;
  TxnRequest request;
  request.compares.assign(size, never);
  request.then.assign(size, Get{key});
  request.then.front() = Put{key, "", 0};
  request.otherwise = {Get{key}};
  return request;
}

class Surveyor {
 public:
  Surveyor(const Address& address, std::shared_ptr<const TlsFiles> files, const Patience& patience)
      : address_(address), files_(std::move(files)), patience_(patience) {}

  Survey look() {
    for (const Endpoint& endpoint : address_.endpoints) ask(endpoint);
    ask_for_members();
    read_epoch();
    if (!survey_.epoch) return std::move(survey_);
    ask_for_alarms();
    measure();
    return std::move(survey_);
  }

 private:
  struct Way {
    std::shared_ptr<Link> link;
    Metadata metadata;
  };

  Deadline soon() const { return steady_clock::now() + patience_.attempt; }
  Answer call(const Way& way, const char* path, std::string_view message) const {
    return way.link->call(path, way.metadata, message, soon());
  }

  void ask(const Endpoint& endpoint) {
    Asked asked;
    asked.endpoint = endpoint;
    auto way = open(endpoint);
    if (!way) {
      asked.error = std::move(way.error());
    } else {
      look_at(*way, asked);
      // Whoever decides is asked for the rest: the first that serves.
      const bool serves = !asked.status || (!asked.status->is_learner && asked.status->leader != 0);
      if (!asked.error) ways_.insert(serves ? ways_.begin() + serving_++ : ways_.end(), *way);
    }
    survey_.asked.push_back(std::move(asked));
  }

  Result<Way> open(const Endpoint& endpoint) {
    Way way;
    LK_ASSIGN(way.link, Link::open(endpoint, files_, soon()));
    if (address_.user.empty()) return way;
    LK_ASSIGN(const std::string token, authenticate(*way.link, address_, soon()));
    way.metadata.emplace_back("token", token);
    return way;
  }

  void look_at(const Way& way, Asked& asked) {
    const Answer answer = call(way, kStatus, {});
    const Endpoint& endpoint = asked.endpoint;
    if (is_ok(answer)) {
      asked.status = decode_status(answer.body);
      if (asked.status) asked.version = asked.status->version;
    } else if (answer.status == Grpc::kPermissionDenied && !address_.user.empty()) {
      survey_.hidden = true;
      asked.version = read_version_page(endpoint, files_, soon()).value_or("");
    } else {
      asked.error = to_error(answer, endpoint.name());
      return;
    }
    asked.quota = read_quota(endpoint, files_, soon());
  }

  void ask_for_members() {
    for (const Way& way : ways_) {
      const Answer answer = call(way, kMemberList, {});
      if (answer.status == Grpc::kPermissionDenied) survey_.hidden = true;
      if (!is_ok(answer)) continue;
      survey_.members = decode_members(answer.body).value_or(std::vector<Member>());
      if (!survey_.members.empty()) return;
    }
  }

  void ask_for_alarms() {
    const Answer answer = call(ways_.front(), kAlarm, {});
    if (answer.status == Grpc::kPermissionDenied) survey_.hidden = true;
    if (is_ok(answer)) survey_.alarms = decode_alarms(answer.body);
  }

  // The way that answers is the first from then on.
  void read_epoch() {
    survey_.epoch = fail(Code::kStoreUnavailable, "no member of the cluster answers",
                         "start them; nothing is granted until most of them run");
    RangeRequest request;
    request.key = Keys(address_.prefix).epoch();
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      const Way way = ways_[i];
      const std::string name = way.link->endpoint().name();
      const Answer answer = call(way, kRange, encode(request));
      const auto range = is_ok(answer) ? decode_range(answer.body) : std::nullopt;
      if (!range) {
        if (i == 0) survey_.epoch = std::unexpected(to_error(answer, name));
        continue;
      }
      survey_.header = range->header;
      survey_.epoch =
          range->kvs.empty() ? std::nullopt : std::optional(std::string(range->kvs.front().value));
      std::swap(ways_.front(), ways_[i]);
      return;
    }
  }

  void measure() {
    const std::string key = Keys(address_.prefix).epoch();
    std::array<double, kCommits> times{};
    for (int i = -1; i < kCommits; ++i) {
      const std::string request = encode(impossible(key, i < 0 ? kOpsMost : 1));
      const auto begin = steady_clock::now();
      const Answer answer = call(ways_.front(), kTxn, request);
      const std::chrono::duration<double, std::milli> time = steady_clock::now() - begin;
      if (!is_ok(answer)) {
        survey_.commit_ms =
            std::unexpected(to_error(answer, ways_.front().link->endpoint().name()));
        return;
      }
      if (i >= 0) times[static_cast<std::size_t>(i)] = time.count();
    }
    std::ranges::sort(times);
    survey_.commit_ms = times[kCommits / 2];
  }

  const Address& address_;
  const std::shared_ptr<const TlsFiles> files_;
  const Patience patience_;
  std::vector<Way> ways_;  // those that answer; who serves comes first
  std::ptrdiff_t serving_ = 0;
  Survey survey_;
};

}  // namespace

Survey survey(const Address& address, std::shared_ptr<const TlsFiles> files,
              const Patience& patience) {
  return Surveyor(address, std::move(files), patience).look();
}

}  // namespace lockkeeper::kv::etcd
