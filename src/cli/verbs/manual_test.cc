#include "cli/manual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  layout::Runtime runtime;
  runtime.env = [](const char*) { return std::nullopt; };
  CliEnvironment environment;
  environment.runtime = &runtime;
  environment.verbs = all_verbs();
  const std::vector<VerbShape> shapes = verb_shapes(environment);
  ASSERT_EQ(shapes.size(), all_verbs().size());
  for (const VerbShape& shape : shapes) {
    EXPECT_THAT(overview, HasSubstr(roff_text("lockkeeper-" + shape.name)));
    const std::string own = said({"help", "--man", shape.name});
    for (const Arguments::Declared& declared : shape.arguments) {
      EXPECT_THAT(own, HasSubstr(roff_text(declared.name))) << shape.name;
      EXPECT_THAT(own, HasSubstr(roff_text(declared.help))) << shape.name;
    }
  }
}

}  // namespace
}  // namespace lockkeeper::cli
