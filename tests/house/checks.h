// What the house forbids, as functions on files in memory, so that each can be shown to fail.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockkeeper::house {

struct File {
  std::string path;  // from the repository's root: "src/core/table.h"
  std::string text;
};

struct Violation {
  std::string path;
  std::size_t line = 0;  // 0: the file as a whole
  std::string what;
};

struct Limits {
  std::size_t header_lines = 150;
  std::size_t source_lines = 600;
  std::size_t function_lines = 70;
  std::size_t columns = 100;
};

// "foo_test.cc", "test_child.h", "key_testing.h".
bool is_test_file(const std::string& path);

// Every arrow between rooms that the plan does not have, every folder that is in no room, every
// include that is not rooted at src/.
std::vector<Violation> check_includes(const std::vector<File>& files);

// The clock, randomness, pids, files and sleeping in rooms that must be given them.
std::vector<Violation> check_purity(const std::vector<File>& files);

// Transactions and the table itself in rooms that must go through the service.
std::vector<Violation> check_doors(const std::vector<File>& files);

// What only Linux has, outside the rooms that a port begins with (docs/porting.md).
std::vector<Violation> check_portability(const std::vector<File>& files);

// `files` are sources and CMakeLists.txt. Each room's LINKS are of the plan, its NAME is its
// folder's, and what its sources include is linked, directly or through what is.
std::vector<Violation> check_links(const std::vector<File>& files);

// Each room names in DEPS the libraries whose headers its sources read, directly or through ours.
// On a machine where they are not installed the compiler finds only those.
std::vector<Violation> check_libraries(const std::vector<File>& files);

// What include/ includes: the standard library of C++20 or C11 and itself, so that an embedder
// needs no more.
std::vector<Violation> check_public_headers(const std::vector<File>& files);

// Sizes, columns, `#pragma once`, unfinished work.
std::vector<Violation> check_style(const std::vector<File>& files, const Limits& limits = {});

}  // namespace lockkeeper::house
