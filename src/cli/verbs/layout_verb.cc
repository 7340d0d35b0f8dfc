// `layout add|remove|list|ignore`: which other tools' lock files this realm reads and writes.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/list_view.h"
#include "cli/verbs/verbs.h"
#include "dialect/kinds.h"
#include "layout/registration.h"
#include "layout/registry.h"
#include "realm/disk_path.h"

namespace lockkeeper::cli {
namespace {

using layout::LayoutEntry;

struct LayoutWords {
  std::string kind, root;
  std::optional<std::string> mode;
  std::vector<std::string> options;
};

std::string absolute(const VerbContext& context, const std::string& path) {
  if (path.starts_with("/")) return path;
  const auto wanted = context.wanted({path});
  return wanted ? realm::join_path(wanted->base.folder, path) : path;
}

Result<LayoutEntry> entry_of(const VerbContext& context, const LayoutWords& given) {
  LayoutEntry entry;
  entry.kind = given.kind;
  entry.root = absolute(context, given.root);
  const std::optional<layout::LayoutMode> mode = layout::layout_mode(given.mode.value_or("both"));
  if (!mode) {
    return fail(Code::kUsage, "--mode " + quote(*given.mode) + " is not a mode",
                "use off, read or both");
  }
  entry.mode = *mode;
  for (const std::string& option : given.options) {
    const std::size_t sign = option.find('=');
    if (sign == 0 || sign == std::string::npos) {
      return fail(Code::kUsage, "--option " + quote(option) + " is not NAME=VALUE",
                  "write --option project=my-project");
    }
    entry.options[option.substr(0, sign)] = option.substr(sign + 1);
  }
  return entry;
}

const char* added_text(layout::LayoutMode mode) {
  switch (mode) {
    case layout::LayoutMode::kOff:
      return "It is off: nothing is read there, and nothing is written.";
    case layout::LayoutMode::kRead:
      return "This realm now sees that tool's locks. That tool does not see ours.";
    case layout::LayoutMode::kBoth:
      return "That tool now sees the locks of this realm, and this realm sees its locks.";
  }
  return "";
}

Result<int> layout_add(VerbContext& context) {
  LayoutWords given;
  Arguments& arguments = context.arguments();
  arguments.word("KIND", given.kind, "mkdir, workflow, coordmcp or dirlock");
  arguments.offer({"mkdir", "workflow", "coordmcp", "dirlock"});
  arguments.word("ROOT", given.root, "the folder in which that tool keeps its locks");
  arguments.offer(Arguments::Complete::kFolders);
  arguments.value("--mode", given.mode, "MODE", "off, read (write nothing) or both");
  arguments.offer({"off", "read", "both"});
  arguments.values("--option", given.options, "NAME=VALUE", "an option of KIND; may be repeated");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto open, context.open(std::vector<std::string>()));
  LK_ASSIGN(const LayoutEntry entry, entry_of(context, given));
  LK_ASSIGN(const std::string id,
            layout::use_layout(open->site.table(), {entry, dialect::made_below(entry.kind)}));
  out.object({{"added", id}});
  out.prose("added " + id + "\n" + added_text(entry.mode));
  return 0;
}

service::Json report_json(const layout::LayoutReport& report) {
  const LayoutEntry& entry = report.entry;
  service::Json json = {{"id", entry.id()},
                        {"kind", entry.kind},
                        {"root", entry.root},
                        {"mode", layout::layout_mode_name(entry.mode)},
                        {"from", entry.origin.file.empty() ? "registered" : entry.origin.text()},
                        {"options", entry.options},
                        {"ignored", entry.ignored},
                        {"foreign", report.foreign},
                        {"shown", report.mirrored},
                        {"notes", report.notes}};
  json["error"] = report.trouble ? service::error_json(*report.trouble) : service::Json();
  return json;
}

Result<int> layout_list(VerbContext& context) {
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto open, context.open(std::vector<std::string>()));
  LK_ASSIGN(const auto reports, layout::layout_reports(open->site.table()));
  service::Json json = {{"layouts", service::Json::array()}};
  std::vector<Row> rows = {header({"LAYOUT", "MODE", "THEIRS", "OURS", "ROOT"})};
  for (const layout::LayoutReport& report : reports) {
    json["layouts"].push_back(report_json(report));
    rows.push_back({{report.entry.id()},
                    {layout::layout_mode_name(report.entry.mode)},
                    {std::to_string(report.foreign)},
                    {std::to_string(report.mirrored)},
                    {report.entry.root, Style::kDim}});
  }
  out.object(json);
  if (reports.empty()) {
    out.text("no layouts: other tools' lock files are neither read nor written");
    return 0;
  }
  for (const Line& line : table_lines(std::move(rows), out.columns())) out.line(line);
  for (const layout::LayoutReport& report : reports) {
    for (const std::string& note : report.notes) out.warning(report.entry.id() + ": " + note);
    if (report.trouble) out.warning(report.entry.id() + ": " + report.trouble->message);
  }
  return 0;
}

// Physical except for its last name, which may be a symlink that should not be there.
std::string in_its_folder(const std::string& path) {
  const std::filesystem::path typed(path);
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::weakly_canonical(typed.parent_path(), error);
  return error ? path : (folder / typed.filename()).string();
}

// The innermost layout whose root contains the path.
Result<int> layout_ignore(VerbContext& context) {
  std::string typed;
  bool again = false;
  context.arguments().word("PATH", typed, "a lock file to ignore");
  context.arguments().offer(Arguments::Complete::kFiles);
  context.arguments().flag("--again", again, "stop ignoring it");
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto open, context.open(std::vector<std::string>()));
  layout::LockTable& table = open->site.table();
  const std::string path = in_its_folder(absolute(context, typed));
  LK_ASSIGN(const auto all, layout::load_layouts(table.realm(), table.settings()));
  const LayoutEntry* innermost = nullptr;
  for (const LayoutEntry& entry : all) {
    const bool below = path.starts_with(entry.root + "/");
    const bool deeper = innermost == nullptr || entry.root.size() > innermost->root.size();
    if (below && deeper) innermost = &entry;
  }
  if (innermost == nullptr) {
    return fail(Code::kNotFound, quote(path) + " is not below any layout's root",
                "see the roots: lockkeeper layout list");
  }
  LK_CHECK(layout::ignore_source(table, innermost->id(), path, !again));
  out.object({{again ? "regarded" : "ignored", path}, {"layout", innermost->id()}});
  out.text(std::string(again ? "no longer ignoring " : "ignoring ") + shown(path));
  return 0;
}

Result<int> layout_remove(VerbContext& context) {
  std::string id;
  context.arguments().word("ID", id, "as layout list shows it");
  context.arguments().offer(Arguments::Complete::kLayouts);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto open, context.open(std::vector<std::string>()));
  LK_CHECK(layout::remove_layout(open->site.table(), id));
  out.object({{"removed", id}});
  out.text("removed " + id);
  return 0;
}

constexpr Verb kLayoutSubcommands[] = {
    {"add", "Read and write another tool's lock files from now on",
     "  lockkeeper layout add mkdir spec      # locks made by mkdir below spec/.locks\n"
     "  lockkeeper layout add workflow out --mode read\n",
     layout_add},
    {"remove", "Stop reading and writing them", "  lockkeeper layout remove mkdir-1a2b3c4d\n",
     layout_remove},
    {"list", "Which layouts there are, and what they hold", "  lockkeeper layout list\n",
     layout_list, Does::kLook},
    {"ignore", "Ignore a lock file that cannot be read",
     "  lockkeeper layout ignore out/locks/broken.lock\n"
     "  lockkeeper layout ignore out/locks/broken.lock --again\n",
     layout_ignore},
};

}  // namespace

std::span<const Verb> layout_subcommands() {
  return kLayoutSubcommands;
}

}  // namespace lockkeeper::cli
