#include "embed/owner.h"

#include <unistd.h>

#include "embed/convert.h"
#include "embed/slots.h"
#include "host/process.h"
#include "layout/registry.h"
#include "realm/realm_request.h"
#include "realm/store_url.h"
#include "service/report.h"
#include "wiring/embedded_store.h"
#include "wiring/lock_service.h"

namespace lockkeeper::embed {

// A call of acquire() in progress, which close() can end.
class Owner::Call {
 public:
  explicit Call(Owner& owner) : owner_(owner) {
    const std::lock_guard lock(owner_.mutex_);
    place_ = owner_.calls_.emplace(owner_.calls_.end());
  }
  ~Call() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.calls_.erase(place_);
    owner_.returned_.notify_all();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::stop_source& source() const { return *place_; }

 private:
  Owner& owner_;
  std::list<std::stop_source>::iterator place_;
};

std::unique_ptr<Owner::Machine> Owner::make_machine() {
  auto machine = std::make_unique<Machine>();
  service::Runtime& runtime = machine->runtime;
  runtime.clock = &machine->clock;
  runtime.random = &machine->random;
  runtime.env = realm::process_environment();
  runtime.open_store = [&runtime](const layout::StoreRequest& request) {
    return wiring::open_remembered(runtime, request);
  };
  runtime.layout_kinds = wiring::layout_kinds();
  runtime.make_service = wiring::make_service;
  return machine;
}

Result<Owner::Opened> Owner::find(Machine& machine, const RealmOptions& options) {
  const realm::Environment& env = machine.runtime.env;
  Opened opened;
  LK_ASSIGN(opened.realm, realm::find_realm(realm::realm_request(options.path, env)));
  LK_CHECK(realm::choose_store(opened.realm, options.store, env));
  LK_ASSIGN(opened.settings, layout::load_settings(machine.runtime, opened.realm));
  realm::IdentityRequest who;
  if (!options.agent.empty()) who.agent = options.agent;
  if (!options.session.empty()) who.session = options.session;
  who.env = env;
  who.terminal_session = host::terminal_session;
  who.client_process = host::client_process;
  who.new_session = &machine.random;
  LK_ASSIGN(opened.who, realm::find_identity(who));
  LK_ASSIGN(opened.under, service::parent_lease_from(env, opened.realm));
  return opened;
}

Result<std::shared_ptr<Owner>> Owner::open(const RealmOptions& options) {
  auto machine = make_machine();
  LK_ASSIGN(Opened opened, find(*machine, options));
  return std::shared_ptr<Owner>(new Owner(std::move(machine), std::move(opened)));
}

Result<Owner::Opened> Owner::find_in_memory(Machine& machine, const RealmOptions& options) {
  if (!options.path.empty() || !options.store.empty()) {
    return fail(Code::kInvalidInput, "a realm in memory has neither a path nor a store",
                "leave both empty");
  }
  Opened opened;
  opened.realm.root = "/";
  opened.realm.store_folder = opened.realm.name = "memory";
  opened.realm.in_memory = true;
  realm::IdentityRequest who;
  who.agent = options.agent.empty() ? "embedder" : options.agent;
  if (!options.session.empty()) who.session = options.session;
  who.env = machine.runtime.env;
  who.terminal_session =
      who.client_process = [] { return Result<std::optional<std::string>>(std::nullopt); };
  who.new_session = &machine.random;
  LK_ASSIGN(opened.who, realm::find_identity(who));
  return opened;
}

Result<std::shared_ptr<Owner>> Owner::open_in_memory(std::shared_ptr<MemoryTable> memory,
                                                     const RealmOptions& options) {
  auto machine = std::make_unique<Machine>();
  machine->memory = std::move(memory);
  service::Runtime& runtime = machine->runtime;
  runtime.clock = machine->memory->time().get();
  runtime.random = &machine->random;
  runtime.env = [](std::string_view) { return std::optional<std::string>(); };
  runtime.open_store = [table = machine->memory.get()](const layout::StoreRequest&) {
    return Result<std::unique_ptr<kv::Store>>(table->open_store());
  };
  runtime.make_service = wiring::make_service;
  runtime.in_memory = {.waker = machine->memory.get(), .prober = machine->memory.get()};
  LK_ASSIGN(Opened opened, find_in_memory(*machine, options));
  std::shared_ptr<Owner> owner(new Owner(std::move(machine), std::move(opened)));
  owner->machine_->memory->time()->listen(owner,
                                          [keeper = &owner->keeper_] { keeper->clock_moved(); });
  return owner;
}

Owner::Owner(std::unique_ptr<Machine> machine, Opened opened)
    : machine_(std::move(machine)),
      pid_(::getpid()),
      site_(machine_->runtime, std::move(opened.realm), std::move(opened.settings)),
      locks_(site_, {opened.who.agent, opened.who.session}, std::move(opened.under)),
      keeper_(locks_, *machine_->runtime.clock) {}

Owner::~Owner() {
  machine_->memory ? machine_->memory->end_slot(slot_) : drop_slot(this);
}

bool Owner::in_child() const {
  return ::getpid() != pid_;
}

void Owner::close() {
  std::unique_lock lock(mutex_);
  std::list<std::stop_source> calls = calls_;
  lock.unlock();  // a stop runs callbacks, which use the waker
  for (std::stop_source& call : calls) call.request_stop();
  lock.lock();
  returned_.wait(lock, [this] { return calls_.empty(); });
}

Result<std::uint64_t> Owner::slot() {
  const std::lock_guard lock(mutex_);
  if (slot_ == 0 && machine_->memory) {
    slot_ = machine_->memory->take_slot();
  } else if (slot_ == 0) {
    LK_ASSIGN(host::LiveSlot taken, site_.table().take_slot());
    slot_ = taken.offset();
    keep_slot(this, std::move(taken));
  }
  return slot_;
}

Result<Owner::Taken> Owner::take(const std::vector<std::string>& resources,
                                 const AcquireOptions& options) {
  LK_ASSIGN(service::AcquireCommand command, to_command(resources, options));
  const Call call(*this);
  LK_ASSIGN(command.attachment.slot, slot());
  // Before anything is granted: a lease must be renewed from the start.
  LK_CHECK(keeper_.start(weak_from_this(), command.attachment));

  std::stop_source& stop = call.source();
  command.wake = site_.table().new_ticket();
  command.on_wait = [&stop](const service::WaitProgress&) { return !stop.stop_requested(); };
  const std::stop_callback asked(options.cancel, [&stop] { stop.request_stop(); });
  const std::stop_callback wake(stop.get_token(), [&] {
    if (auto waker = site_.table().waker()) (*waker)->wake(command.wake);
  });

  Taken taken;
  auto share = std::make_shared<Share>();
  share->on_lost = options.on_lost;
  LK_ASSIGN(auto entry, ask(command, taken.result, share));
  if (entry) {
    taken.handle = std::make_shared<Handle>(shared_from_this(), std::move(entry), std::move(share));
  }
  return taken;
}

Acquired Owner::acquire(const std::vector<std::string>& resources, const AcquireOptions& options) {
  auto taken = take(resources, options);
  if (!taken) return std::move(taken.error());
  if (!taken->handle) return to_refusal(taken->result, resources, now_wall_ms());
  return {Lease(std::move(taken->handle)), std::move(taken->result.warnings)};
}

// Null: refused, and `result` says why.
Result<std::shared_ptr<KeptLease>> Owner::ask(const service::AcquireCommand& command,
                                              service::AcquireResult& result,
                                              const std::shared_ptr<Share>& share) {
  constexpr int kAttemptsMax = 64;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    const std::uint64_t back_before = keeper_.borrowed_back();
    LK_ASSIGN(result, locks().acquire(command));
    if (service::outcome_status(result.outcome) != 0) return nullptr;
    if (auto entry = keeper_.keep(result, share, back_before)) return entry;
    // Renewed, and no entry here keeps it: it was taken elsewhere in this owner's name, or another
    // thread is about to keep it, or has just released it.
    auto entry = keeper_.borrow(result, share);
    const auto current = locks().is_current(entry->id, entry->fence);
    if (current && *current) return entry;
    static_cast<void>(keeper_.drop(entry, share, true));
    if (!current) return fail(current.error());
  }
  return fail(Code::kStoreBusy, "other threads kept releasing what was asked for", "try again");
}

Result<core::CheckReply> Owner::check(const std::vector<std::string>& resources,
                                      const CheckOptions& options) {
  return locks().check(to_command(resources, options));
}

Result<service::ListReply> Owner::list(const ListOptions& options) {
  return locks().list(to_command(options));
}

Result<std::vector<core::Lease>> Owner::renew(const std::vector<std::string>& resources,
                                              const RenewOptions& options) {
  LK_ASSIGN(const service::RenewCommand command, to_command(resources, options));
  LK_ASSIGN(std::vector<core::Lease> leases, locks().renew(command));
  keeper_.renewed(leases);
  return leases;
}

Result<core::Lease> Owner::break_lease(const std::string& lease_id, const std::string& reason) {
  if (reason.empty()) return fail(Code::kUsage, "break_lease needs a reason: it goes on record");
  service::BreakCommand command;
  command.lease_ids = {lease_id};
  command.reason = reason;
  LK_ASSIGN(std::vector<core::Lease> broken, locks().break_leases(command));
  return std::move(broken.front());
}

// --- one Lease object

bool Handle::lost() const {
  if (owner_->in_child()) return true;
  return !released_.load() && owner_->keeper().lost(entry_);
}

std::optional<Error> Handle::loss() const {
  if (owner_->in_child()) {
    return Error{Code::kLost, "lease " + entry_->id_text + " is held by the parent of this process",
                 "open a realm in the child, and ask for it there"};
  }
  if (released_.load()) return std::nullopt;
  return owner_->keeper().loss(entry_);
}

Result<void> Handle::check() const {
  if (auto lost = loss()) return fail(std::move(*lost));
  if (released_.load()) {
    return fail(Code::kNotFound, "lease " + entry_->id_text + " was released", "ask for it again");
  }
  LK_ASSIGN(const bool current, owner_->locks().is_current(entry_->id, entry_->fence));
  if (!current) owner_->keeper().lose(entry_, "lease " + entry_->id_text + " has ended");
  // Once more: this process may have been stopped while it asked.
  if (auto lost = loss()) return fail(std::move(*lost));
  return {};
}

Result<void> Handle::release() {
  if (owner_->in_child()) return fail(std::move(*loss()));
  if (released_.load()) {
    return fail(Code::kNotFound, "lease " + entry_->id_text + " was released before");
  }
  auto lost = loss();
  auto done = owner_->keeper().drop(entry_, share_, false);
  if (done || done.error().code == Code::kLost) released_ = true;
  // It is released in the store, but the caller must know that it was not held all the time.
  if (done && lost) return fail(std::move(*lost));
  return done;
}

void Handle::let_go(std::shared_ptr<Handle> handle) noexcept {
  if (handle->owner_->in_child()) return abandon(std::move(handle));
  if (handle->released_.exchange(true)) return;
  static_cast<void>(handle->owner_->keeper().drop(handle->entry_, handle->share_, true));
}

void abandon(std::shared_ptr<void> what) noexcept {
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): we do not catch bad_alloc
  static auto* const kKept = new std::vector<std::shared_ptr<void>>;
  kKept->push_back(std::move(what));
}

}  // namespace lockkeeper::embed
