#include "cli/manual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>

#include "cli/verbs/testing.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {
namespace {

using testing::HasSubstr;

TEST(Manual, text_is_never_taken_as_a_request) {
  EXPECT_EQ(roff_text(".x -a \\ 'q' \"…\""), "\\&.x \\-a \\e \\(aqq\\(aq \\(dq\\[u2026]\\(dq");
}

TEST(Manual, every_verb_and_every_flag_is_in_it) {
  const std::string overview = said({"help", "--man"});
  service::Runtime runtime;
  runtime.env = [](const char*) { return std::nullopt; };
  CliEnvironment environment;
  environment.runtime = &runtime;
  environment.verbs = all_verbs();
  const VerbShape program = program_shape(environment);
  const auto shown =
      std::ranges::count_if(all_verbs(), [](const Verb& verb) { return !verb.summary.empty(); });
  ASSERT_EQ(program.subcommands.size(), static_cast<std::size_t>(shown));
  for (const VerbShape& verb : program.subcommands) {
    EXPECT_THAT(overview, HasSubstr(roff_text("lockkeeper-" + verb.name)));
    const std::string page = said({"help", "--man", verb.name});
    std::vector<VerbShape> all = verb.subcommands;
    if (all.empty()) all = {verb};
    for (const VerbShape& each : all) {
      EXPECT_THAT(page, HasSubstr(roff_text(each.summary))) << verb.name;
      for (const Arguments::Declared& declared : each.arguments) {
        EXPECT_THAT(page, HasSubstr(roff_text(declared.name))) << verb.name << " " << each.name;
        EXPECT_THAT(page, HasSubstr(roff_text(declared.help))) << verb.name << " " << each.name;
      }
    }
  }
}

TEST(Manual, a_subcommand_has_a_synopsis_and_a_section) {
  const std::string page = said({"help", "--man", "layout"});
  EXPECT_THAT(page, HasSubstr("\\fBlockkeeper layout add\\fR [\\fIOPTIONS\\fR] "
                              "\\fIKIND\\fR \\fIROOT\\fR\n"));
  EXPECT_THAT(page, HasSubstr("\n.SS ignore\nIgnore"));
}

}  // namespace
}  // namespace lockkeeper::cli
