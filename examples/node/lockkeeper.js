// Lockkeeper for Node: the C API through koffi, which comes compiled. One file to copy.
//
//   const realm = lockkeeper.open({ agent: 'indexer' });
//   const lease = await realm.acquire(['src/auth/'], { waitMs: 60000, reason: 'JWT refresh' });
//   try {
//     await lease.check(); // right before what the lock guards
//     work();
//   } finally {
//     await lease.close();
//   }
//
// What may block runs in a thread of libuv's pool, so the event loop goes on. The pool has four
// threads (UV_THREADPOOL_SIZE), and a wait takes one for as long as it lasts. Every failure is a
// LockkeeperError, which has the code of the command line and the JSON of the answer.
'use strict';

const koffi = require('koffi');
const { promisify } = require('node:util');

const library = koffi.load(process.env.LOCKKEEPER_LIBRARY || 'liblockkeeper.so.0');

const FOREVER = -1; // as waitMs or ttlMs
const OK = 0;
const SHARED = 1;
const ALL = 2;

for (const name of ['realm', 'lease', 'cancel', 'answer']) koffi.opaque(`lockkeeper_${name}`);

const OpenOptions = koffi.struct('lockkeeper_open_options', {
  struct_size: 'size_t', path: 'const char *', store: 'const char *', agent: 'const char *',
  session: 'const char *',
});
// A callback would have to wait for the event loop, so this module has none: ask lease.lost.
const AcquireOptions = koffi.struct('lockkeeper_acquire_options', {
  struct_size: 'size_t', flags: 'uint64_t', wait_ms: 'int64_t', ttl_ms: 'int64_t',
  reason: 'const char *', task: 'const char *', request_id: 'const char *',
  cancel: 'lockkeeper_cancel *', on_lost: 'void *', on_lost_data: 'void *',
});
const CheckOptions = koffi.struct('lockkeeper_check_options', {
  struct_size: 'size_t', flags: 'uint64_t', fence: 'uint64_t',
});
const ListOptions = koffi.struct('lockkeeper_list_options', {
  struct_size: 'size_t', agent: 'const char *', task: 'const char *', overlapping: 'const char *',
});
const RenewOptions = koffi.struct('lockkeeper_renew_options', {
  struct_size: 'size_t', flags: 'uint64_t', ttl_ms: 'int64_t', lease_ids: 'const char **',
  lease_id_count: 'size_t',
});

const c = {};
for (const declaration of [
  'int lockkeeper_open(const lockkeeper_open_options *options, _Out_ lockkeeper_realm **realm, _Out_ lockkeeper_answer **answer)',
  'int lockkeeper_close(lockkeeper_realm *realm)',
  'int lockkeeper_whoami(lockkeeper_realm *realm, _Out_ lockkeeper_answer **answer)',
  'int lockkeeper_acquire(lockkeeper_realm *realm, const char **resources, size_t count, const lockkeeper_acquire_options *options, _Out_ lockkeeper_lease **lease, _Out_ lockkeeper_answer **answer)',
  'int lockkeeper_check(lockkeeper_realm *realm, const char **resources, size_t count, const lockkeeper_check_options *options, _Out_ lockkeeper_answer **answer)',
  'int lockkeeper_list(lockkeeper_realm *realm, const lockkeeper_list_options *options, _Out_ lockkeeper_answer **answer)',
  'int lockkeeper_renew(lockkeeper_realm *realm, const char **resources, size_t count, const lockkeeper_renew_options *options, _Out_ lockkeeper_answer **answer)',
  'int lockkeeper_break(lockkeeper_realm *realm, const char *lease_id, const char *reason, _Out_ lockkeeper_answer **answer)',
  'const char *lockkeeper_lease_id(lockkeeper_lease *lease)',
  'uint64_t lockkeeper_lease_fence(lockkeeper_lease *lease)',
  'int lockkeeper_lease_lost(lockkeeper_lease *lease, void *answer)',
  'int lockkeeper_lease_check(lockkeeper_lease *lease, _Out_ lockkeeper_answer **answer)',
  'int lockkeeper_lease_release(lockkeeper_lease *lease, _Out_ lockkeeper_answer **answer)',
  'int lockkeeper_lease_close(lockkeeper_lease *lease)',
  'int lockkeeper_cancel_new(_Out_ lockkeeper_cancel **cancel)',
  'int lockkeeper_cancel_request(lockkeeper_cancel *cancel)',
  'int lockkeeper_cancel_free(lockkeeper_cancel *cancel)',
  'const char *lockkeeper_answer_message(lockkeeper_answer *answer)',
  'const char *lockkeeper_answer_hint(lockkeeper_answer *answer)',
  'const char *lockkeeper_answer_json(lockkeeper_answer *answer)',
  'int lockkeeper_answer_free(lockkeeper_answer *answer)',
  'const char *lockkeeper_version()',
  'const char *lockkeeper_status_name(int status)',
]) {
  const name = /lockkeeper_(\w+)\(/.exec(declaration)[1];
  c[name] = library.func(declaration);
  c[name].later = promisify(c[name].async);
}

class LockkeeperError extends Error {
  constructor(code, message, hint, answer) {
    super(message);
    Object.assign(this, { name: 'LockkeeperError', code, hint, answer });
  }
}

// The JSON of the answer, which is freed; or a LockkeeperError.
function read(status, handle) {
  const text = c.answer_json(handle);
  const answer = text ? JSON.parse(text) : {};
  const error = status === OK ? null : new LockkeeperError(
    c.status_name(status), c.answer_message(handle), c.answer_hint(handle), answer);
  c.answer_free(handle);
  if (error) throw error;
  return answer;
}

async function call(name, ...args) {
  const answer = [null];
  const status = await c[name].later(...args, answer);
  return read(status, answer[0]);
}

// Fields that are not given are 0 or NULL: the defaults.
function options(type, texts, given = {}) {
  const all = { struct_size: koffi.sizeof(type), flags: 0, wait_ms: 0, ttl_ms: 0, fence: 0 };
  for (const name of texts) all[name] = null;
  return Object.assign(all, given);
}

// Ends the waits that were given it.
class Cancel {
  constructor() {
    const place = [null];
    c.cancel_new(place);
    this.handle = place[0];
  }
  request() { c.cancel_request(this.handle); }
  free() { c.cancel_free(this.handle); }
}

// A lock that you hold. It renews itself until it is released or closed.
class Lease {
  constructor(handle, answer) {
    this.handle = handle;
    this.answer = answer;
    this.id = c.lease_id(handle);
    this.fence = c.lease_fence(handle);
  }
  // Looks at the clock alone: right at once, even after the process was stopped.
  get lost() { return c.lease_lost(this.handle, null) !== OK; }
  // Asks the store; rejects unless it is current. Call it right before a guarded change.
  async check() { await call('lease_check', this.handle); }
  // Releases it now, and rejects if it had been lost before.
  async release() {
    await call('lease_release', this.handle);
    await this.close();
  }
  async close() { await c.lease_close.later(this.handle); }
}

// The locks of a repository as one owner. Give each worker a realm of its own.
class Realm {
  constructor(handle) { this.handle = handle; }

  whoami() { return call('whoami', this.handle); }

  async acquire(resources, { shared, waitMs, ttlMs, reason, task, requestId, cancel } = {}) {
    const given = options(AcquireOptions, ['on_lost', 'on_lost_data'], {
      flags: shared ? SHARED : 0, wait_ms: waitMs ?? 0, ttl_ms: ttlMs ?? 0, reason: reason ?? null,
      task: task ?? null, request_id: requestId ?? null, cancel: cancel?.handle ?? null,
    });
    const place = [null];
    const answer = await call('acquire', this.handle, resources, resources.length, given, place);
    return new Lease(place[0], answer);
  }

  // {free, mine, conflicts}; rejects with "held" if others are in the way.
  check(resources, { shared, fence } = {}) {
    const given = options(CheckOptions, [], { flags: shared ? SHARED : 0, fence: fence ?? 0 });
    return call('check', this.handle, resources, resources.length, given);
  }

  list({ agent, task, overlapping } = {}) {
    const given = options(ListOptions, [], {
      agent: agent ?? null, task: task ?? null, overlapping: overlapping ?? null,
    });
    return call('list', this.handle, given);
  }

  async renew(resources = [], { all, ttlMs } = {}) {
    const given = options(RenewOptions, ['lease_ids'], {
      flags: all ? ALL : 0, ttl_ms: ttlMs ?? 0, lease_id_count: 0,
    });
    return (await call('renew', this.handle, resources, resources.length, given)).renewed;
  }

  async breakLease(leaseId, reason) {
    return (await call('break', this.handle, leaseId, reason)).broken;
  }

  // Ends the waits of this realm. Leases stay held.
  async close() { await c.close.later(this.handle); }
}

function open({ path, store, agent, session } = {}) {
  const given = options(OpenOptions, [], {
    path: path ?? null, store: store ?? null, agent: agent ?? null, session: session ?? null,
  });
  const place = [null];
  const answer = [null];
  read(c.open(given, place, answer), answer[0]);
  return new Realm(place[0]);
}

module.exports = { open, Realm, Lease, Cancel, LockkeeperError, FOREVER, version: c.version() };
