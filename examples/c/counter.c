// Counts in a file that several processes share: each addition is made under a lock.
//
//   counter FILE TIMES
//
// Start several at once, and those in other languages too: none of the additions is lost, whoever
// is killed in between.
#include <lockkeeper.h>
#include <stdio.h>
#include <stdlib.h>

static int complain(lockkeeper_answer* answer) {
  fprintf(stderr, "counter: %s\n", lockkeeper_answer_message(answer));
  fprintf(stderr, "  hint: %s\n", lockkeeper_answer_hint(answer));
  lockkeeper_answer_free(answer);
  return 1;
}

static void add_one(const char* path) {
  char draft[4096];
  long number = 0;
  FILE* file = fopen(path, "r");
  if (file != NULL) {
    if (fscanf(file, "%ld", &number) != 1) number = 0;
    fclose(file);
  }
  snprintf(draft, sizeof draft, "%s.new", path);
  file = fopen(draft, "w");
  if (file == NULL) return;
  fprintf(file, "%ld\n", number + 1);
  fclose(file);
  rename(draft, path);  // whole or not at all
}

// Adds one while it holds the lock.
static int add_under_lock(lockkeeper_realm* realm, const char* path) {
  lockkeeper_answer* answer = NULL;
  lockkeeper_lease* lease = NULL;
  lockkeeper_acquire_options options = {.struct_size = sizeof options};
  options.wait_ms = 60000;
  options.ttl_ms = 30000;
  options.reason = "counting";
  if (lockkeeper_acquire(realm, &path, 1, &options, &lease, &answer) != LOCKKEEPER_OK) {
    return complain(answer);  // its JSON names everybody who is in the way
  }
  lockkeeper_answer_free(answer);
  // Right before what the lock guards: is it still ours?
  int failed = 0;
  if (lockkeeper_lease_check(lease, &answer) == LOCKKEEPER_OK) {
    lockkeeper_answer_free(answer);
    add_one(path);
  } else {
    failed = complain(answer);
  }
  lockkeeper_lease_close(lease);  // releases it
  return failed;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: counter FILE TIMES\n");
    return 64;
  }
  lockkeeper_answer* answer = NULL;
  lockkeeper_realm* realm = NULL;
  lockkeeper_open_options options = {.struct_size = sizeof options, .agent = "counter"};
  if (lockkeeper_open(&options, &realm, &answer) != LOCKKEEPER_OK) return complain(answer);
  lockkeeper_answer_free(answer);
  int failed = 0;
  for (int i = 0; i < atoi(argv[2]) && !failed; ++i) failed = add_under_lock(realm, argv[1]);
  lockkeeper_close(realm);
  if (!failed) printf("%s: added %s\n", argv[1], argv[2]);
  return failed;
}
