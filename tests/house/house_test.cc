// The checks on the sources of this very repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "house/checks.h"

namespace lockkeeper::house {
namespace {

namespace fs = std::filesystem;

const std::vector<File>& repository() {
  static const std::vector<File> kFiles = [] {
    const fs::path root = LOCKKEEPER_SOURCE_DIR;
    std::vector<File> files;
    for (const char* folder : {"src", "include", "tests", "bench", "examples"}) {
      if (!fs::exists(root / folder)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        const std::string name = entry.path().filename();
        const bool wanted =
            name.ends_with(".cc") || name.ends_with(".h") || name == "CMakeLists.txt";
        if (!entry.is_regular_file() || !wanted) continue;
        std::ifstream stream(entry.path(), std::ios::binary);
        files.push_back({fs::relative(entry.path(), root).string(),
                         std::string(std::istreambuf_iterator<char>(stream), {})});
      }
    }
    std::ranges::sort(files, {}, &File::path);
    return files;
  }();
  return kFiles;
}

void expect_none(const std::vector<Violation>& violations) {
  for (const Violation& violation : violations) {
    ADD_FAILURE_AT(violation.path.c_str(), static_cast<int>(violation.line)) << violation.what;
  }
}

TEST(House, was_found_and_read) {
  const auto has = [](const std::string& path) {
    return std::ranges::find(repository(), path, &File::path) != repository().end();
  };
  EXPECT_TRUE(has("src/base/error.h"));
  EXPECT_TRUE(has("src/base/CMakeLists.txt"));
  EXPECT_TRUE(has("src/core/CMakeLists.txt"));
  EXPECT_TRUE(has("tests/house/checks.cc"));
  EXPECT_TRUE(has("include/lockkeeper/realm.h"));
}

TEST(House, no_arrow_points_up_or_sideways) {
  expect_none(check_includes(repository()));
}

TEST(House, rooms_link_what_they_include_and_nothing_above) {
  expect_none(check_links(repository()));
}

TEST(House, rooms_name_the_libraries_whose_headers_they_read) {
  expect_none(check_libraries(repository()));
}

TEST(House, core_and_key_never_ask_for_time_chance_processes_or_files) {
  expect_none(check_purity(repository()));
}

TEST(House, doors_never_see_a_transaction) {
  expect_none(check_doors(repository()));
}

TEST(House, what_only_linux_has_is_called_in_host_and_kv_lmdb_alone) {
  expect_none(check_portability(repository()));
}

TEST(House, public_headers_need_only_the_standard_library) {
  expect_none(check_public_headers(repository()));
}

// A script that runs only on some machines could be broken for long.
TEST(House, scripts_can_be_read_by_what_runs_them) {
  const fs::path root = LOCKKEEPER_SOURCE_DIR;
  std::size_t scripts = 0;
  for (const char* folder : {"tests", "bench", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path();
      std::string check;
      if (path.ends_with(".sh")) check = "bash -n '" + path + "'";
      if (path.ends_with(".py")) {
        check =
            "python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], \"exec\")' '" +
            path + "'";
      }
      if (check.empty()) continue;
      ++scripts;
      EXPECT_EQ(std::system(check.c_str()), 0) << check;
    }
  }
  EXPECT_GT(scripts, 3U);
}

TEST(House, sizes_and_columns) {
  expect_none(check_style(repository()));
}

}  // namespace
}  // namespace lockkeeper::house
