#include "embed/scene.h"

#include <cstdlib>

namespace lockkeeper::stage {
namespace {

constexpr const char* kCleared[] = {"LOCKKEEPER_AGENT", "LOCKKEEPER_SESSION", "LOCKKEEPER_REALM",
                                    "LOCKKEEPER_STORE", "LOCKKEEPER_LEASE",   "LOCKKEEPER_FENCE"};

}  // namespace

EmbedTest::EmbedTest() {
  for (const char* name : kCleared) ::unsetenv(name);
  for (const char* name : {"HOME", "XDG_STATE_HOME"}) {
    ::setenv(name, stage_.env[name].c_str(), 1);
  }
  ::unsetenv("XDG_CONFIG_HOME");
}

EmbedTest::~EmbedTest() = default;

Process EmbedTest::holder(const std::string& mode, const std::string& resource,
                          std::chrono::milliseconds ttl, const Words& rest) {
  Words argv{LOCKKEEPER_HOLDER, mode, resource, std::to_string(ttl.count())};
  argv.insert(argv.end(), rest.begin(), rest.end());
  return Process(stage_.command(argv));
}

void EmbedTest::expect_says(const Process& process, const std::string& text) {
  EXPECT_TRUE(eventually([&] { return process.out().find(text) != std::string::npos; }))
      << "not said: " << text << "\nstdout: " << process.out() << "\nstderr: " << process.err();
}

std::string EmbedTest::act(const Process& process, int number) const {
  const std::string said = "act " + std::to_string(number) + " ";
  stage_.file("act-" + std::to_string(number));
  expect_says(process, said);
  const std::string out = process.out();
  const std::size_t from = out.find(said);
  if (from == std::string::npos) return {};
  const std::size_t begin = from + said.size();
  return out.substr(begin, out.find('\n', begin) - begin);
}

std::uint64_t fence_said(const std::string& text) {
  constexpr std::string_view kWord = "granted ";
  const std::size_t from = text.find(kWord);
  if (from == std::string::npos) return 0;
  return std::strtoull(text.c_str() + from + kWord.size(), nullptr, 10);
}

}  // namespace lockkeeper::stage
