#include "cli/pager.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "base/captured_stream.h"
#include "base/test_folder.h"

namespace lockkeeper::cli {
namespace {

class Pager : public testing::Test {
 protected:
  // What three lines leave on stdout at a terminal of so many rows.
  std::string shown(std::size_t rows, std::map<std::string, std::string> variables,
                    bool terminal = true) {
    service::Runtime runtime;
    runtime.env = [&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    const CapturedStream out;
    CliEnvironment environment;
    environment.runtime = &runtime;
    environment.out_is_terminal = terminal;
    environment.rows = rows;
    OutputOptions options;
    options.out = out.get();
    options.err = stderr;
    options.out_is_terminal = terminal;
    Output output(options);
    show_lines(environment, output, {{{"one"}}, {{"two"}}, {{"three"}}});
    output.flush();
    return out.text();
  }

  std::string paged() const {
    std::ifstream file(folder_.file("paged"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string into_file() const { return "cat >" + folder_.file("paged"); }

  const TestFolder folder_;
};

constexpr const char* kLines = "one\ntwo\nthree\n";

TEST_F(Pager, B13_what_does_not_fit_goes_through_it) {
  EXPECT_EQ(shown(3, {{"LOCKKEEPER_PAGER", into_file()}, {"PAGER", "false"}}), "");
  EXPECT_EQ(paged(), kLines);
}

TEST_F(Pager, B13_the_users_pager_is_the_second_choice) {
  EXPECT_EQ(shown(2, {{"PAGER", into_file()}}), "");
  EXPECT_EQ(paged(), kLines);
}

TEST_F(Pager, B13_short_output_and_pipes_are_printed) {
  EXPECT_EQ(shown(4, {{"PAGER", into_file()}}), kLines);
  EXPECT_EQ(shown(0, {{"PAGER", into_file()}}), kLines) << "the size is not known";
  EXPECT_EQ(shown(2, {{"PAGER", into_file()}}, false), kLines);
  EXPECT_EQ(paged(), "");
}

TEST_F(Pager, B13_an_empty_variable_and_cat_mean_none) {
  EXPECT_EQ(shown(2, {{"LOCKKEEPER_PAGER", ""}, {"PAGER", into_file()}}), kLines);
  EXPECT_EQ(shown(2, {{"PAGER", "cat"}}), kLines);
  EXPECT_EQ(paged(), "");
}

TEST_F(Pager, B13_one_that_cannot_be_started_loses_nothing) {
  EXPECT_EQ(shown(2, {{"PAGER", "/nonexistent/pager 2>/dev/null"}}), kLines);
}

}  // namespace
}  // namespace lockkeeper::cli
