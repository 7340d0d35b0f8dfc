// A C program that holds a lock through the C API, for tests that kill and stop it.
//
//   capi_holder MODE RESOURCE TTL_MS
//
// It says "granted FENCE", then, by MODE:
//   hold    acts whenever the file act-N appears (N = 1, 2, …): "act N ok" if the lease is current,
//           else "act N refused CODE"; "told CAUSE" when the lease is lost
//   fork    starts a child that holds on to all it inherited; the child says "child lost" if
//           everything is lost to it, and stays
//   leak    ends by exit() with nothing closed
//   cancel  a thread that waits is cancelled; says "cancelled late" if it ended after the wait
#define _XOPEN_SOURCE 700
#include <lockkeeper.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void say(const char* what, const char* more) {
  printf("%s%s\n", what, more);
  fflush(stdout);
}

static void told(void* data, const lockkeeper_answer* why) {
  say((const char*)data, lockkeeper_answer_message(why));
}

static void nap(void) {
  const struct timespec moment = {0, 5000000};
  nanosleep(&moment, NULL);
}

static void hold(lockkeeper_lease* lease) {
  char name[64];
  int number = 1;
  for (;;) {
    snprintf(name, sizeof name, "act-%d", number);
    if (access(name, F_OK) == 0) {
      const lockkeeper_status status = lockkeeper_lease_check(lease, NULL);
      snprintf(name, sizeof name, "act %d %s", number, status == LOCKKEEPER_OK ? "ok" : "refused ");
      say(name, status == LOCKKEEPER_OK ? "" : lockkeeper_status_name(status));
      ++number;
    }
    nap();
  }
}

static void check_child(lockkeeper_realm* realm, lockkeeper_lease* lease) {
  const char* other = "other";
  lockkeeper_lease* mine = NULL;
  lockkeeper_realm* fresh = NULL;
  const int lost = lockkeeper_lease_lost(lease, NULL) == LOCKKEEPER_LOST &&
                   lockkeeper_lease_check(lease, NULL) == LOCKKEEPER_LOST &&
                   lockkeeper_lease_release(lease, NULL) == LOCKKEEPER_LOST &&
                   lockkeeper_list(realm, NULL, NULL) == LOCKKEEPER_LOST &&
                   lockkeeper_acquire(realm, &other, 1, NULL, &mine, NULL) == LOCKKEEPER_LOST &&
                   lockkeeper_lease_close(lease) == LOCKKEEPER_OK &&
                   lockkeeper_close(realm) == LOCKKEEPER_OK;
  // A realm of its own works.
  const int own = lockkeeper_open(NULL, &fresh, NULL) == LOCKKEEPER_OK &&
                  lockkeeper_acquire(fresh, &other, 1, NULL, &mine, NULL) == LOCKKEEPER_OK;
  say(lost && own ? "child lost" : "child thinks that it holds it", "");
  for (;;) pause();
}

struct wait {
  lockkeeper_realm* realm;
  const char* resource;
  int began;
  int returned;
};

static void* wait_for_it(void* data) {
  struct wait* wait = data;
  lockkeeper_lease* lease = NULL;
  lockkeeper_acquire_options options = LOCKKEEPER_ACQUIRE_OPTIONS_INIT;
  options.wait_ms = 300;
  lockkeeper_acquire(wait->realm, &wait->resource, 1, &options, &lease, NULL);
  wait->returned = 1;
  for (;;) pthread_testcancel();
  return NULL;
}

static int cancel_thread(const char* resource) {
  struct wait wait = {NULL, resource, 0, 0};
  pthread_t thread;
  void* result = NULL;
  lockkeeper_open(NULL, &wait.realm, NULL);
  if (pthread_create(&thread, NULL, wait_for_it, &wait) != 0) return 1;
  pthread_cancel(thread);
  pthread_join(thread, &result);
  say(result == PTHREAD_CANCELED ? "cancelled " : "not cancelled ",
      wait.returned ? "late" : "early");
  return lockkeeper_close(wait.realm) == LOCKKEEPER_OK ? 0 : 1;
}

int main(int argc, char** argv) {
  char word[32];
  char cause[] = "told ";
  lockkeeper_answer* answer = NULL;
  lockkeeper_realm* realm = NULL;
  lockkeeper_lease* lease = NULL;
  lockkeeper_open_options who = LOCKKEEPER_OPEN_OPTIONS_INIT;
  lockkeeper_acquire_options options = LOCKKEEPER_ACQUIRE_OPTIONS_INIT;
  if (argc < 4) return 64;
  who.agent = "holder";
  options.ttl_ms = atol(argv[3]);
  options.reason = "a test";
  options.on_lost = told;
  options.on_lost_data = cause;
  const char* resource = argv[2];
  if (lockkeeper_open(&who, &realm, NULL) != LOCKKEEPER_OK) return 1;
  if (lockkeeper_acquire(realm, &resource, 1, &options, &lease, &answer) != LOCKKEEPER_OK) {
    say("failed ", lockkeeper_answer_message(answer));
    return 1;
  }
  snprintf(word, sizeof word, "%llu", (unsigned long long)lockkeeper_lease_fence(lease));
  say("granted ", word);
  if (strcmp(argv[1], "leak") == 0) exit(0);
  if (strcmp(argv[1], "cancel") == 0) return cancel_thread(resource);
  if (strcmp(argv[1], "fork") == 0 && fork() == 0) check_child(realm, lease);
  hold(lease);
}
