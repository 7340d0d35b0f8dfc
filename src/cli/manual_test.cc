#include "cli/manual.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/testing.h"
#include "cli/verbs.h"

namespace lockkeeper::cli {
namespace {

using testing::HasSubstr;

std::string page(const std::vector<const char*>& words) {
  service::Runtime runtime;
  runtime.env = [](const char*) { return std::nullopt; };
  const CapturedStream out, err;
  CliEnvironment environment;
  environment.runtime = &runtime;
  environment.out = out.get();
  environment.err = err.get();
  EXPECT_EQ(run_cli(static_cast<int>(words.size()), words.data(), environment), 0);
  EXPECT_EQ(err.text(), "");
  return out.text();
}

TEST(Manual, text_is_never_taken_as_a_request) {
  EXPECT_EQ(roff_text(".x -a \\ 'q' \"…\""), "\\&.x \\-a \\e \\(aqq\\(aq \\(dq\\[u2026]\\(dq");
}

TEST(Manual, every_verb_and_every_flag_is_in_it) {
  const std::string overview = page({"lockkeeper", "help", "--man"});
  service::Runtime runtime;
  runtime.env = [](const char*) { return std::nullopt; };
  CliEnvironment environment;
  environment.runtime = &runtime;
  const std::vector<VerbShape> shapes = verb_shapes(environment);
  ASSERT_EQ(shapes.size(), verbs().size());
  for (const VerbShape& shape : shapes) {
    EXPECT_THAT(overview, HasSubstr(roff_text("lockkeeper-" + shape.name)));
    const std::string own = page({"lockkeeper", "help", "--man", shape.name.c_str()});
    for (const Arguments::Declared& declared : shape.arguments) {
      EXPECT_THAT(own, HasSubstr(roff_text(declared.name))) << shape.name;
      EXPECT_THAT(own, HasSubstr(roff_text(declared.help))) << shape.name;
    }
  }
}

}  // namespace
}  // namespace lockkeeper::cli
