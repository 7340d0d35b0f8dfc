#include "core/testing.h"

#include <algorithm>

#include "core/audit.h"
#include "core/browse.h"
#include "core/history.h"

namespace lockkeeper::core {

key::Resource resource(std::string_view text, key::Syntax syntax) {
  auto parsed = key::parse(text, {}, syntax);
  EXPECT_TRUE(parsed.has_value()) << text << ": " << (parsed ? "" : parsed.error().message);
  return parsed ? parsed->resource : key::Resource{};
}

Claim x(std::string_view text) {
  return {resource(text), Mode::kExclusive};
}

Claim s(std::string_view text) {
  return {resource(text), Mode::kShared};
}

Alive FakeProber::probe(const Attachment& attachment) const {
  const auto known = slots_.find(attachment.slot);
  return known == slots_.end() ? Alive::kAlive : known->second;
}

Realm::Realm(kv::Flavour flavour)
    : store_(std::make_unique<kv::MemoryStore>(
          kv::MemoryOptions{.flavour = flavour, .epoch = epoch_, .start_version = 10})) {}

Context Realm::context(std::uint64_t ticket) const {
  Context context;
  context.now = now_;
  context.epoch = at_rest().epoch();
  context.ticket = ticket;
  context.prober = &prober;
  context.limits = limits;
  if (machine != nullptr) machine->take_over(context);
  return context;
}

// Looks at rows as they are written, and is no sight of any machine.
Context Realm::observer() const {
  Context context = this->context(0);
  context.sightings = nullptr;
  return context;
}

void Realm::pass(std::int64_t ms) {
  now_.mono_ms += ms;
  now_.wall_ms += ms;
}

void Realm::reboot(std::int64_t mono_ms) {
  store_->crash();
  epoch_.id += 1;
  epoch_.fence_offset += 1'000'000;
  epoch_.start_mono_ms = mono_ms;
  now_.mono_ms = mono_ms;
  store_->reopen(epoch_);
}

AcquireRequest Realm::ask(Owner owner, std::vector<Claim> claims) {
  AcquireRequest request;
  request.owner = std::move(owner);
  request.claims = std::move(claims);
  request.terms.ttl_ms = 60'000;
  return request;
}

AcquireRequest Realm::wait(Owner owner, std::vector<Claim> claims) {
  AcquireRequest request = ask(std::move(owner), std::move(claims));
  request.wait = true;
  request.waiting_process = process(next_process_++);
  request.wake = request.waiting_process.slot;
  return request;
}

Result<AcquireReply> Realm::acquire(const AcquireRequest& request) {
  return run([&](Table& table) { return table.acquire(request); });
}

Result<AcquireReply> Realm::poll(const LeaseId& id, Table::Poll how) {
  return run([&](Table& table) { return table.poll(id, how); });
}

Result<AcquireReply> Realm::cancel(const LeaseId& id) {
  return run([&](Table& table) { return table.cancel(id, "timeout"); });
}

Result<ReleaseReply> Realm::release(const Owner& owner,
                                    std::initializer_list<std::string_view> texts) {
  std::vector<key::Resource> resources;
  for (const std::string_view text : texts) resources.push_back(resource(text));
  return run([&](Table& table) { return table.release(owner, resources); });
}

Result<ReleaseReply> Realm::release(const Owner& owner, const LeaseId& id) {
  return run([&](Table& table) { return table.release_leases(owner, {id}); });
}

Result<std::vector<Lease>> Realm::renew(const Owner& owner, const LeaseId& id,
                                        std::optional<std::int64_t> ttl_ms,
                                        const Attachment& attachment) {
  return run([&](Table& table) { return table.renew(owner, {id}, ttl_ms, attachment); });
}

// check() promises to change nothing, so it gets a transaction that cannot write.
Result<CheckReply> Realm::check(const AcquireRequest& request, std::uint64_t fence) {
  auto txn = through().begin(kv::Access::kRead);
  if (!txn) return fail(txn.error());
  const Context now = context(0);
  Table table(**txn, now);
  return table.check(request, fence);
}

Result<std::vector<Lease>> Realm::break_lease(const BreakRequest& how, const LeaseId& id) {
  return run([&](Table& table) { return table.break_leases(how, {id}); });
}

void Realm::maintain(std::size_t most) {
  for (int tries = 0; tries < kTriesMax; ++tries) {
    const auto more = run([&](Table& table) { return table.maintain(most); });
    ASSERT_TRUE(more.has_value()) << more.error().message;
    if (!*more) return;
  }
  FAIL() << "maintain does not come to an end";
}

std::vector<LostLease> Realm::notices(const Owner& owner) {
  auto lost = run([&](Table& table) { return table.take_lost_notices(owner); });
  EXPECT_TRUE(lost.has_value());
  return lost ? *lost : std::vector<LostLease>{};
}

Lease Realm::granted(const AcquireRequest& request) {
  const auto reply = acquire(request);
  EXPECT_TRUE(reply.has_value()) << (reply ? "" : reply.error().message);
  if (!reply) return {};
  EXPECT_EQ(reply->outcome, Outcome::kGranted) << testing::PrintToString(holders(*reply));
  return reply->lease;
}

Lease Realm::granted(const Owner& owner, std::vector<Claim> claims) {
  return granted(ask(owner, std::move(claims)));
}

Lease Realm::queued(const AcquireRequest& request) {
  const auto reply = acquire(request);
  EXPECT_TRUE(reply.has_value()) << (reply ? "" : reply.error().message);
  if (!reply) return {};
  EXPECT_EQ(reply->outcome, Outcome::kQueued) << testing::PrintToString(holders(*reply));
  return reply->lease;
}

Lease Realm::queued(const Owner& owner, std::vector<Claim> claims) {
  return queued(wait(owner, std::move(claims)));
}

Outcome Realm::outcome(const AcquireRequest& request) {
  const auto reply = acquire(request);
  EXPECT_TRUE(reply.has_value()) << (reply ? "" : reply.error().message);
  return reply ? reply->outcome : Outcome::kHeld;
}

bool Realm::holds(const LeaseId& id) {
  return rows().contains(lease_key(id));
}

bool Realm::waits(const LeaseId& id) {
  return rows().contains(waiter_key(id));
}

Lease Realm::lease(const LeaseId& id) {
  for (Lease& lease : leases()) {
    if (lease.id == id) return std::move(lease);
  }
  ADD_FAILURE() << "no lease " << id.text();
  return {};
}

Waiter Realm::waiter(const LeaseId& id) {
  for (Waiter& waiter : waiters()) {
    if (waiter.request.id == id) return std::move(waiter);
  }
  ADD_FAILURE() << "no waiter " << id.text();
  return {};
}

std::vector<Lease> Realm::leases() {
  std::vector<Lease> all;
  auto txn = at_rest().begin(kv::Access::kRead);
  const Context now = observer();
  State state(**txn, now);
  std::string from;
  do {
    auto page = lease_page(state, from);
    EXPECT_TRUE(page.has_value());
    if (!page) break;
    from = page->next;
    std::move(page->leases.begin(), page->leases.end(), std::back_inserter(all));
  } while (!from.empty());
  return all;
}

// In queue order.
std::vector<Waiter> Realm::waiters() {
  std::vector<Waiter> all;
  auto txn = at_rest().begin(kv::Access::kRead);
  const Context now = observer();
  State state(**txn, now);
  std::string from;
  do {
    auto page = waiter_page(state, from);
    EXPECT_TRUE(page.has_value());
    if (!page) break;
    from = page->next;
    std::move(page->waiters.begin(), page->waiters.end(), std::back_inserter(all));
  } while (!from.empty());
  std::sort(all.begin(), all.end(),
            [](const Waiter& a, const Waiter& b) { return a.request.created < b.request.created; });
  return all;
}

std::vector<Event> Realm::events() {
  auto txn = at_rest().begin(kv::Access::kRead);
  const Context now = observer();
  State state(**txn, now);
  auto all = events_after(state, 0, SIZE_MAX);
  EXPECT_TRUE(all.has_value());
  return all ? *all : std::vector<Event>{};
}

std::vector<std::string> Realm::story() {
  std::vector<std::string> lines;
  for (const Event& event : events()) {
    std::string line = event.what + ' ' + event.owner.agent;
    char separator = ' ';
    for (const std::string& text : event.resources) {
      line += separator + text;
      separator = ',';
    }
    if (!event.cause.empty()) line += " [" + event.cause + ']';
    lines.push_back(std::move(line));
  }
  return lines;
}

std::map<std::string, std::string> Realm::rows() {
  std::map<std::string, std::string> all;
  auto txn = at_rest().begin(kv::Access::kRead);
  const auto done = (*txn)->scan(
      {std::string(1, '\0'), "\xff"},
      [&](const kv::Row& row) {
        all.emplace(row.key, row.value);
        return true;
      },
      kv::Read::kPeek);
  EXPECT_TRUE(done.has_value());
  return all;
}

void Realm::audit() {
  auto txn = at_rest().begin(kv::Access::kRead);
  const auto problems = core::audit(**txn, context(0));
  ASSERT_TRUE(problems.has_value()) << problems.error().message;
  EXPECT_TRUE(problems->empty()) << testing::PrintToString(*problems);
}

std::string flavour_name(const testing::TestParamInfo<kv::Flavour>& info) {
  return info.param == kv::Flavour::kOptimistic ? "optimistic" : "pessimistic";
}

std::vector<std::string> agents(const std::vector<Lease>& leases) {
  std::vector<std::string> names;
  for (const Lease& lease : leases) names.push_back(lease.owner.agent);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> holders(const AcquireReply& reply) {
  std::vector<std::string> lines;
  for (const Conflict& conflict : reply.conflicts) {
    lines.push_back((conflict.waiting ? "waiter " : "lease ") + conflict.holder.owner.agent + ": " +
                    conflict.held.resource.text());
  }
  return lines;
}

}  // namespace lockkeeper::core
