// What the functions of lockkeeper.h take and give: statuses, handles, options.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LOCKKEEPER_FOREVER INT64_C(-1)  // a wait without a limit, a lease without an end

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lockkeeper_status {
  LOCKKEEPER_OK = 0,
  LOCKKEEPER_FAILED = 1,            // none of those below; a wait that was cancelled
  LOCKKEEPER_USAGE = 2,             // the call makes no sense, such as with a closed handle
  LOCKKEEPER_INVALID_RESOURCE = 3,  // not a path or key that can be locked
  LOCKKEEPER_INVALID_INPUT = 4,     // another argument is wrong
  LOCKKEEPER_NOT_FOUND = 5,         // no such lease, no such store
  LOCKKEEPER_STORE_BUSY = 6,        // another process is inside the store and stuck
  LOCKKEEPER_STORE_UNAVAILABLE = 7,
  LOCKKEEPER_STORE_CORRUPT = 8,
  LOCKKEEPER_NO_SPACE = 9,
  LOCKKEEPER_UNKNOWN = 10,  // it may or may not be done; ask again with the same request_id
  LOCKKEEPER_LIMIT_EXCEEDED = 11,
  LOCKKEEPER_HELD = 12,                     // another owner holds it
  LOCKKEEPER_DEADLOCK = 13,                 // the wait would never end
  LOCKKEEPER_OPERATION_NOT_PERMITTED = 14,  // the realm's settings forbid it
  LOCKKEEPER_NOT_OWNER = 15,
  LOCKKEEPER_INVALID_CONFIG = 16,
  LOCKKEEPER_LOST = 17,     // the lease has ended
  LOCKKEEPER_TIMEOUT = 18,  // it was not granted within the wait
} lockkeeper_status;

typedef struct lockkeeper_realm lockkeeper_realm;    // the locks of a repository, as one owner
typedef struct lockkeeper_lease lockkeeper_lease;    // a lock that you hold; it renews itself
typedef struct lockkeeper_cancel lockkeeper_cancel;  // ends waits, from another thread
typedef struct lockkeeper_answer lockkeeper_answer;  // what a call has to say

// --- Options. struct_size is sizeof the struct; so fields can be added at the end. 0 or NULL in
// every other field is the default, as are no options at all (NULL).
//   lockkeeper_list_options options = {.struct_size = sizeof options};   // C
//   lockkeeper_list_options options = LOCKKEEPER_LIST_OPTIONS_INIT;      // C and C++
enum {
  LOCKKEEPER_SHARED = 1,  // acquire, check: others may hold it too, if they hold it shared
  LOCKKEEPER_ALL = 2,     // renew: every lease of this owner
};

typedef struct lockkeeper_open_options {
  size_t struct_size;
  const char* path;     // any folder of the repository; as --realm
  const char* store;    // "lmdb:/folder"; as --store
  const char* agent;    // the owner's name; as --agent
  const char* session;  // tells two runs of one agent apart; default: a new one
} lockkeeper_open_options;

// Called once if the lease is lost, by a thread of the library that takes no signals. `why` is
// valid until it returns; NULL: out of memory. It may call every function, also close the lease and
// the realm. Be brief: other losses wait for it. lockkeeper_lease_close() in another thread waits
// until it has returned, and after that it is not called.
typedef void (*lockkeeper_on_lost)(void* data, const lockkeeper_answer* why);

typedef struct lockkeeper_acquire_options {
  size_t struct_size;
  uint64_t flags;          // LOCKKEEPER_SHARED
  int64_t wait_ms;         // 0: do not wait. LOCKKEEPER_FOREVER
  int64_t ttl_ms;          // after each renewal. 0: the realm's default. LOCKKEEPER_FOREVER
  const char* reason;      // shown to callers that are refused
  const char* task;        // a label
  const char* request_id;  // repeating a call with the same id has the effect of one call
  lockkeeper_cancel* cancel;
  lockkeeper_on_lost on_lost;
  void* on_lost_data;
} lockkeeper_acquire_options;

typedef struct lockkeeper_check_options {
  size_t struct_size;
  uint64_t flags;  // LOCKKEEPER_SHARED
  uint64_t fence;  // instead: has this owner a live lease with that fence, in any mode, on all?
} lockkeeper_check_options;

typedef struct lockkeeper_list_options {
  size_t struct_size;
  const char* agent;        // only what this agent holds or waits for
  const char* task;         // only what has this label
  const char* overlapping;  // only what overlaps this path, pattern or key
} lockkeeper_list_options;

typedef struct lockkeeper_renew_options {
  size_t struct_size;
  uint64_t flags;                // LOCKKEEPER_ALL
  int64_t ttl_ms;                // never shortened. 0: each keeps its own. LOCKKEEPER_FOREVER
  const char* const* lease_ids;  // these, too
  size_t lease_id_count;
} lockkeeper_renew_options;

#define LOCKKEEPER_OPEN_OPTIONS_INIT {sizeof(lockkeeper_open_options), NULL, NULL, NULL, NULL}
#define LOCKKEEPER_ACQUIRE_OPTIONS_INIT \
  {sizeof(lockkeeper_acquire_options), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL}
#define LOCKKEEPER_CHECK_OPTIONS_INIT {sizeof(lockkeeper_check_options), 0, 0}
#define LOCKKEEPER_LIST_OPTIONS_INIT {sizeof(lockkeeper_list_options), NULL, NULL, NULL}
#define LOCKKEEPER_RENEW_OPTIONS_INIT {sizeof(lockkeeper_renew_options), 0, 0, NULL, 0}

#ifdef __cplusplus
}
#endif
