// For tests only: what a command prints.
#pragma once

#include "base/captured_stream.h"
#include "cli/cli.h"
#include "cli/testing.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {

struct Answer {
  int status = 0;
  std::string out, err;
};

// The answer of a command that needs no store.
inline Answer answer(const std::vector<std::string>& words) {
  service::Runtime runtime;
  runtime.env = [](const char*) { return std::nullopt; };
  const CapturedStream out, err;
  CliEnvironment environment;
  environment.runtime = &runtime;
  environment.verbs = all_verbs();
  environment.groups = verb_groups();
  environment.aliases = verb_aliases();
  environment.out = out.get();
  environment.err = err.get();
  std::vector<const char*> arguments = {"lockkeeper"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const int status = run_cli(static_cast<int>(arguments.size()), arguments.data(), environment);
  return {status, out.text(), err.text()};
}

// The output of such a command, which must succeed and print nothing on stderr.
inline std::string said(const std::vector<std::string>& words) {
  const Answer got = answer(words);
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.err, "");
  return got.out;
}

// What a view shows, without its colours.
inline std::string plain(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) {
    std::string one;
    for (const Span& span : line) one += span.text;
    one.erase(one.find_last_not_of(' ') + 1);
    text += one + "\n";
  }
  return text;
}

}  // namespace lockkeeper::cli
