// What locks of other tools cost somebody who wants one path that none of them covers: a thousand
// in a layout against the same layout without any, and what the layout itself costs, because every
// lease is shown in it. Nothing else is held: it would be shown there, too, and there would be no
// "none".
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/assert.h"
#include "bench/must.h"
#include "bench/peers/ours.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"
#include "layout/registration.h"
#include "layout/registry.h"
#include "wiring/embedded_store.h"

namespace lockkeeper::bench {
namespace {

constexpr std::size_t kForeignRunsLeast = 10;
constexpr double kMust = 1.5;
constexpr int kLockFiles = 10;  // of the case with several locks in each

// As another tool left it an hour ago: what is young must be read again each time.
void write_old(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
  const timespec past{::time(nullptr) - 3600, 0};
  const timespec times[] = {past, past};
  LOCKKEEPER_ASSERT(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

std::string foreign_path(int i) {
  return fmt::format("src/part{:02}/unit{:04}.ts", i % 50, i);
}

void make_folders(const std::string& root, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("src__part{:02}__unit{:04}.ts", i % 50, i);
    write_old(root + "/.locks/files/" + name + "/owner",
              fmt::format("agent: agent-{}\ntask: T-{}\ntimestamp: 2026-01-17T15:30:00+00:00\n",
                          i % 8, i));
  }
}

std::string workflow_lock(int number, int first, int count) {
  std::string files;
  for (int i = first; i < first + count; ++i) {
    files += fmt::format("{}\"{}\"", files.empty() ? "" : ", ", foreign_path(i));
  }
  return fmt::format(
      "{{\n  \"agent\": \"agent-{}\",\n  \"locked_at\": \"2026-01-17T15:30:00Z\",\n"
      "  \"files\": [{}],\n  \"expires_at\": \"2126-01-17T16:30:00Z\"\n}}\n",
      number, files);
}

void make_lock_files(const std::string& root, int files, int count) {
  const int each = std::max(1, count / files);
  for (int i = 0; i < files && i * each < count; ++i) {
    write_old(fmt::format("{}/locks/agent-{}.lock", root, i), workflow_lock(i, i * each, each));
  }
}

std::string coordmcp_store(int count, const std::string& workspace) {
  std::string locks;
  for (int i = 0; i < count; ++i) {
    const std::string path = workspace + foreign_path(i);
    locks += fmt::format(
        "{}    \"{}\": {{\n      \"file_path\": \"{}\",\n      \"locked_by\": \"agent-{}\",\n"
        "      \"locked_at\": \"2126-01-20T10:30:00\",\n      \"reason\": \"JWT\",\n"
        "      \"expected_duration_minutes\": 60,\n"
        "      \"expected_unlock_time\": \"2126-01-20T11:30:00\"\n    }}",
        i == 0 ? "" : ",\n", path, path, i % 8);
  }
  return "{\n  \"locks\": {\n" + locks + "\n  }\n}\n";
}

// One layout, and what stands in it.
struct Case {
  std::string name;
  std::string kind;  // empty: no layout at all
  std::map<std::string, std::string> options;
  std::function<void(const std::string& root, const std::string& workspace)> fill;
  std::string against;  // the case without foreign locks; empty: this is one
};

std::vector<Case> cases_of(int count) {
  const auto nothing = [](const std::string&, const std::string&) {};
  const std::string many = grouped(count);
  const std::map<std::string, std::string> project = {{"project", "demo"}};
  return {
      {"no layout", "", {}, nothing, ""},
      {"mkdir, none", "mkdir", {}, nothing, ""},
      {"mkdir, " + many + " folders",
       "mkdir",
       {},
       [=](const std::string& root, const std::string&) { make_folders(root, count); },
       "mkdir, none"},
      {"workflow, none", "workflow", {}, nothing, ""},
      {"workflow, " + many + " files",
       "workflow",
       {},
       [=](const std::string& root, const std::string&) { make_lock_files(root, count, count); },
       "workflow, none"},
      {fmt::format("workflow, {} in {} files", many, kLockFiles),
       "workflow",
       {},
       [=](const std::string& root, const std::string&) {
         make_lock_files(root, kLockFiles, count);
       },
       "workflow, none"},
      {"coordmcp, none", "coordmcp", project, nothing, ""},
      {"coordmcp, " + many + " of one agent", "coordmcp", project,
       [=](const std::string& root, const std::string&) {
         write_old(root + "/agents/agent-0/locked_files.json", coordmcp_store(count, ""));
       },
       "coordmcp, none"},
      {"coordmcp, " + many + " in the project's file", "coordmcp", project,
       [=](const std::string& root, const std::string& workspace) {
         write_old(root + "/agents/locks/demo.json", coordmcp_store(count, workspace + "/"));
       },
       "coordmcp, none"},
  };
}

// A realm with the case's layout, its foreign locks known to the table.
std::unique_ptr<Place> make_place(const Setup& setup, const Case& one, int number) {
  auto place =
      std::make_unique<Place>(setup.fresh("foreign-" + std::to_string(number)), Kept::kProcess);
  if (one.kind.empty()) return place;
  const std::string workspace = std::filesystem::canonical(place->folder());
  const std::string root = workspace + "/out";
  std::filesystem::create_directories(root);
  one.fill(root, workspace);
  layout::UseLayout use;
  use.entry.kind = one.kind;
  use.entry.root = root;
  use.entry.options = one.options;
  must(layout::use_layout(place->table(), use));
  return place;
}

void judge(const std::vector<Case>& cases, const std::string& how, Answer& answer) {
  for (const Case& one : cases) {
    if (!one.against.empty()) {
      answer.ratio(how + one.name, how + one.against,
                   {.what = how + one.name + ": the time with none", .must = kMust});
    } else if (!one.kind.empty()) {
      answer.ratio(how + one.name, how + cases.front().name,
                   {.what = how + one.name + ": the time without a layout"});
    }
  }
}

}  // namespace

void ask_foreign(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  std::vector<Case> cases = cases_of(setup.foreign);
  const layout::LayoutKinds kinds = wiring::layout_kinds();
  std::erase_if(cases, [&](const Case& c) { return !c.kind.empty() && !kinds.contains(c.kind); });
  setup.progress->say("preparing " + grouped(setup.foreign) + " locks of other tools, five times");
  std::vector<std::unique_ptr<Place>> places;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    places.push_back(make_place(setup, cases[i], static_cast<int>(i)));
  }
  setup.progress->say("measuring");
  int i = 0;
  std::vector<Once> inside, processes;
  for (const std::unique_ptr<Place>& place : places) {
    inside.push_back([&i, &place] {
      service::Locks locks(place->site(), {"bench", ""});
      return timed([&] { verbs_pair(locks, path_at(7, i++)); });
    });
    processes.push_back([&] {
      const Inside in(place->folder());
      return timed([&] {
        for (const char* verb : {"acquire", "release"}) {
          run_well({setup.lockkeeper, verb, "--agent", "bench", "src/a.py"});
        }
      });
    });
  }
  std::vector<Samples> samples = alternate(inside, setup.seconds, kPairsLeast);
  std::vector<Samples> runs = alternate(processes, setup.seconds, kForeignRunsLeast);
  for (std::size_t side = 0; side < cases.size(); ++side) {
    answer.rows.push_back({cases[side].name, "process", std::move(samples[side]), ""});
  }
  for (std::size_t side = 0; side < cases.size(); ++side) {
    answer.rows.push_back({"program: " + cases[side].name, "process", std::move(runs[side]), ""});
  }
  judge(cases, "", answer);
  judge(cases, "program: ", answer);
}

}  // namespace lockkeeper::bench
