#include "crew/record/run_list.h"

#include <fcntl.h>

#include <algorithm>

#include "base/text.h"

namespace lockkeeper::crew {
namespace {

constexpr const char* kRunsName = "runs";
constexpr std::size_t kPathBytes = 8'192;

struct Noted {
  std::string name;
  std::int64_t at_ms;
};

// The newest first.
Result<std::vector<Noted>> noted_in(const Folder& folder) {
  std::vector<Noted> all;
  LK_ASSIGN(const std::vector<std::string> names, folder.names());
  for (const std::string& name : names) {
    LK_ASSIGN(const auto stamp, folder.stamp(name));
    if (stamp && stamp->regular) all.push_back({name, stamp->mtime_ms});
  }
  std::ranges::sort(all, [](const Noted& a, const Noted& b) {
    return std::pair(b.at_ms, b.name) < std::pair(a.at_ms, a.name);
  });
  return all;
}

}  // namespace

Result<void> list_run(const std::string& store, const std::string& id, const std::string& output) {
  LK_ASSIGN(const Folder folder, Folder::open(store, "", Folder::Kind::kPrivate));
  LK_ASSIGN(const Folder runs, folder.folder(kRunsName));
  folder.share(runs.fd());  // whoever may use the locks may see what runs
  LK_CHECK(runs.write(file_name_for(id), output));
  LK_ASSIGN(const std::optional<Fd> noted, runs.open_file(file_name_for(id), O_RDONLY));
  if (noted) runs.share(noted->get());
  LK_ASSIGN(const std::vector<Noted> all, noted_in(runs));
  for (std::size_t i = kRunsListed; i < all.size(); ++i) LK_CHECK(runs.remove(all[i].name));
  return {};
}

Result<std::vector<ListedRun>> listed_runs(const std::string& store) {
  std::vector<ListedRun> found;
  LK_ASSIGN(const auto folder, Folder::find(store, kRunsName));
  if (!folder) return found;
  LK_ASSIGN(const std::vector<Noted> all, noted_in(*folder));
  for (const Noted& noted : all) {
    if (found.size() == kRunsListed) break;
    LK_ASSIGN(auto output, folder->read(noted.name, kPathBytes));
    if (output && output->starts_with('/')) found.push_back({noted.name, std::move(*output)});
  }
  return found;
}

Result<FoundRun> read_run(const ListedRun& run) {
  LK_ASSIGN(const auto output, Folder::find(run.output));
  if (output) {
    auto last = Journal::read(*output);
    if (last && file_name_for(last->record.id) == run.id) {
      auto now = last->record.ended_ms == 0 ? read_now(*output) : Result<RunState>(*last);
      const bool newer = now && now->record.id == last->record.id;
      return FoundRun{newer ? std::move(*now) : std::move(*last), true};
    }
    LK_ASSIGN(const auto earlier, output->existing("earlier"));
    const auto folder = earlier ? earlier->existing(run.id) : Result<std::optional<Folder>>();
    if (folder && *folder) {
      LK_ASSIGN(RunState state, Journal::read(**folder));
      return FoundRun{std::move(state), false};
    }
    // A journal that is damaged is no run that was removed.
    if (!last && last.error().code != Code::kNotFound) return fail(std::move(last.error()));
  }
  return fail(Code::kNotFound, "the files of the run " + quote(run.id) + " were removed",
              "see the runs that are there: GET /v1/runs");
}

}  // namespace lockkeeper::crew
