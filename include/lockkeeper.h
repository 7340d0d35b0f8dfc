// Locks for programs in any language: the C API. docs/c-api.md explains it, with examples in C,
// Python and Node. C++ programs have lockkeeper/lockkeeper.h besides.
//
//   const char* wanted[] = {"src/auth/", "db:migration-slot"};
//   if (lockkeeper_open(NULL, &realm, &answer) != LOCKKEEPER_OK) return complain(answer);
//   if (lockkeeper_acquire(realm, wanted, 2, NULL, &lease, &answer) != LOCKKEEPER_OK)
//     return complain(answer);                          // lockkeeper_answer_message(answer), …
//   if (lockkeeper_lease_check(lease, NULL) == LOCKKEEPER_OK) work();
//   lockkeeper_lease_close(lease);                      // releases it
//
// Statuses: LOCKKEEPER_OK or one of a closed set, with the names that the command line prints. NULL
// where something is needed, a handle that was closed, and a handle of another kind are
// LOCKKEEPER_USAGE. A handle's value is never used again.
// Answers: whoever passes a lockkeeper_answer** gets a new answer, after success too, and frees it.
// NULL: none is wanted. It stays NULL if there was no memory for it.
// Text is UTF-8 and ends with a NUL. What is passed in is copied. What is given is the library's,
// until its answer is freed or its lease is closed.
// Threads: any thread may call any function at any time, also those of one handle. Closing a handle
// that other threads use lets their calls end first, or is LOCKKEEPER_USAGE to them.
// Forks: to a forked child, inherited realms and leases are lost; it may close them, and opens
// realms of its own. Leases stay the parent's. exec and posix_spawn need nothing.
// Never: an exception, a line on stdout, an exit, a handler for SIGSEGV or SIGBUS (but see
// lockkeeper_handle_faults). A bug found inside is said on stderr before abort().
#pragma once

#include "lockkeeper/c_types.h"

#define LOCKKEEPER_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

// --- Realms. Two realms that name no session are two owners, which exclude each other even within
// one process; an owner never conflicts with itself. Creates nothing on disk: the first grant does.
LOCKKEEPER_API lockkeeper_status lockkeeper_open(const lockkeeper_open_options* options,
                                                 lockkeeper_realm** realm,
                                                 lockkeeper_answer** answer);
// Ends the waits of other threads and lets those calls return first. Leases stay held.
LOCKKEEPER_API lockkeeper_status lockkeeper_close(lockkeeper_realm* realm);
// {"agent","session","realm","store"}: who asks, the root, the store's folder. Does not block.
LOCKKEEPER_API lockkeeper_status lockkeeper_whoami(const lockkeeper_realm* realm,
                                                   lockkeeper_answer** answer);

// Takes all resources or none: paths and patterns relative to the root, absolute paths below it,
// logical keys. {"outcome","lease"}, or {"outcome","conflicts","cycle","error"} with HELD, TIMEOUT,
// DEADLOCK, or, after a cancel, FAILED and the outcome "interrupted". Then nothing is held; only
// after UNKNOWN it may be. Blocks for the wait.
LOCKKEEPER_API lockkeeper_status lockkeeper_acquire(const lockkeeper_realm* realm,
                                                    const char* const* resources, size_t count,
                                                    const lockkeeper_acquire_options* options,
                                                    lockkeeper_lease** lease,
                                                    lockkeeper_answer** answer);

// {"free","mine","conflicts"}. OK: free, or yours. HELD: others are in the way. With a fence, OK:
// it is current; LOST: it is not. Changes nothing.
LOCKKEEPER_API lockkeeper_status lockkeeper_check(const lockkeeper_realm* realm,
                                                  const char* const* resources, size_t count,
                                                  const lockkeeper_check_options* options,
                                                  lockkeeper_answer** answer);

// {"leases","waiters"} of every owner, as the table is now. Changes nothing.
LOCKKEEPER_API lockkeeper_status lockkeeper_list(const lockkeeper_realm* realm,
                                                 const lockkeeper_list_options* options,
                                                 lockkeeper_answer** answer);

// {"renewed"}. For a longer ttl, and for leases that were taken elsewhere in this owner's name; a
// lockkeeper_lease renews itself. After an error nothing was renewed.
LOCKKEEPER_API lockkeeper_status lockkeeper_renew(const lockkeeper_realm* realm,
                                                  const char* const* resources, size_t count,
                                                  const lockkeeper_renew_options* options,
                                                  lockkeeper_answer** answer);

// {"broken"}. Ends a lease of any owner. The reason goes on record and is shown to its holder.
LOCKKEEPER_API lockkeeper_status lockkeeper_break(const lockkeeper_realm* realm,
                                                  const char* lease_id, const char* reason,
                                                  lockkeeper_answer** answer);

// --- Leases. After a third of its ttl a lease is renewed by a thread of the library; after two
// thirds without a renewal it is lost, before anybody else can have it.

// 32 hexadecimal digits, as lockkeeper list shows them; empty: not a lease. Does not block.
LOCKKEEPER_API const char* lockkeeper_lease_id(const lockkeeper_lease* lease);
// Greater than that of every earlier grant in the realm; 0: not a lease. Does not block.
LOCKKEEPER_API uint64_t lockkeeper_lease_fence(const lockkeeper_lease* lease);
// LOST, with the cause, or OK: it is not known to be lost. This only looks at the clock, and is
// right at once even after the process was stopped. OK after a release. Does not block.
LOCKKEEPER_API lockkeeper_status lockkeeper_lease_lost(const lockkeeper_lease* lease,
                                                       lockkeeper_answer** answer);
// Asks the store whether it is current; OK: it is. Call it right before you change what the lock
// guards, and go on after OK alone.
LOCKKEEPER_API lockkeeper_status lockkeeper_lease_check(const lockkeeper_lease* lease,
                                                        lockkeeper_answer** answer);
// Releases it now and tells the result. LOST: it had ended before. NOT_FOUND: released before.
// After another error it is no longer renewed; release it again, or close it. USAGE: another thread
// is releasing it. The handle stays, and is to be closed.
LOCKKEEPER_API lockkeeper_status lockkeeper_lease_release(lockkeeper_lease* lease,
                                                          lockkeeper_answer** answer);
// Releases it unless that was done, and frees the handle. If the store is stuck, the release is
// tried again in the background.
LOCKKEEPER_API lockkeeper_status lockkeeper_lease_close(lockkeeper_lease* lease);

// --- Cancels. One may end any number of waits, those that begin later too. Calls in progress keep
// what was freed. None of these blocks.
LOCKKEEPER_API lockkeeper_status lockkeeper_cancel_new(lockkeeper_cancel** cancel);
LOCKKEEPER_API lockkeeper_status lockkeeper_cancel_request(lockkeeper_cancel* cancel);
LOCKKEEPER_API lockkeeper_status lockkeeper_cancel_free(lockkeeper_cancel* cancel);

// --- Answers. NULL and a freed answer have status LOCKKEEPER_USAGE and empty texts.
LOCKKEEPER_API lockkeeper_status lockkeeper_answer_status(const lockkeeper_answer* answer);
LOCKKEEPER_API const char* lockkeeper_answer_message(const lockkeeper_answer* answer);
LOCKKEEPER_API const char* lockkeeper_answer_hint(const lockkeeper_answer* answer);
// The object that the command line prints with --json, with "error" unless it is LOCKKEEPER_OK.
LOCKKEEPER_API const char* lockkeeper_answer_json(const lockkeeper_answer* answer);
LOCKKEEPER_API lockkeeper_status lockkeeper_answer_free(lockkeeper_answer* answer);

// --- The library. None of these blocks.
LOCKKEEPER_API const char* lockkeeper_version(void);  // "0.2.0"
// "held"; "" for a number that is not a status.
LOCKKEEPER_API const char* lockkeeper_status_name(lockkeeper_status status);
// Lets the library handle SIGSEGV and SIGBUS: a store file that is damaged or truncated while it is
// read is an error then, and otherwise the end of the process. Every fault that is not the store's
// is passed on. USAGE: too late, a realm was opened before.
LOCKKEEPER_API lockkeeper_status lockkeeper_handle_faults(void);

#ifdef __cplusplus
}
#endif
