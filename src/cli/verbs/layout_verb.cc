// `layout add|remove|list|ignore`: which other tools' lock files this realm reads and writes.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/list_view.h"
#include "cli/verbs/verbs.h"
#include "layout/registry.h"
#include "realm/disk_path.h"

namespace lockkeeper::cli {
namespace {

using layout::LayoutEntry;

struct LayoutWords {
  std::vector<std::string> words;
  std::optional<std::string> mode;
  std::vector<std::string> options;
  bool again = false;
};

std::string absolute(const VerbContext& context, const std::string& path) {
  if (path.starts_with("/")) return path;
  const auto wanted = context.wanted({path});
  return wanted ? realm::join_path(wanted->base.folder, path) : path;
}

// What each kind makes below its root, and `git status` should not show.
std::string made_below(const std::string& kind) {
  if (kind == "mkdir") return ".locks/";
  if (kind == "workflow") return "locks/";
  return "";
}

Result<LayoutEntry> entry_of(const VerbContext& context, const LayoutWords& given) {
  LayoutEntry entry;
  entry.kind = given.words[1];
  entry.root = absolute(context, given.words[2]);
  const std::optional<layout::LayoutMode> mode = layout::layout_mode(given.mode.value_or("both"));
  if (!mode) {
    return fail(Code::kUsage, "--mode " + quote(*given.mode) + " is no mode",
                "the modes are: off read both");
  }
  entry.mode = *mode;
  for (const std::string& option : given.options) {
    const std::size_t sign = option.find('=');
    if (sign == 0 || sign == std::string::npos) {
      return fail(Code::kUsage, "--option " + quote(option) + " has no NAME=VALUE",
                  "write --option project=my-project");
    }
    entry.options[option.substr(0, sign)] = option.substr(sign + 1);
  }
  return entry;
}

int add(VerbContext& context, layout::LockTable& table, const LayoutWords& given) {
  Output& out = context.out();
  auto entry = entry_of(context, given);
  if (!entry) return out.failed(entry.error());
  const std::string below = made_below(entry->kind);
  const auto id = layout::use_layout(table, {*entry, below});
  if (!id) return out.failed(id.error());
  out.object({{"added", *id}});
  out.text("added " + *id + "\nEvery lock of this realm is now seen by that tool, and its by us.");
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
                        {"shown", report.shown},
                        {"notes", report.notes}};
  json["error"] = report.trouble ? service::error_json(*report.trouble) : service::Json();
  return json;
}

int list(VerbContext& context, layout::LockTable& table) {
  Output& out = context.out();
  const auto reports = layout::layout_reports(table);
  if (!reports) return out.failed(reports.error());
  service::Json json = {{"layouts", service::Json::array()}};
  std::vector<std::vector<Span>> rows = {{{"LAYOUT", Style::kBold},
                                          {"MODE", Style::kBold},
                                          {"THEIRS", Style::kBold},
                                          {"OURS", Style::kBold},
                                          {"ROOT", Style::kBold}}};
  for (const layout::LayoutReport& report : *reports) {
    json["layouts"].push_back(report_json(report));
    rows.push_back({{report.entry.id()},
                    {layout::layout_mode_name(report.entry.mode)},
                    {std::to_string(report.foreign)},
                    {std::to_string(report.shown)},
                    {report.entry.root, Style::kDim}});
  }
  out.object(json);
  if (reports->empty()) {
    out.text("no layouts: other tools' locks are neither seen nor shown to");
    return 0;
  }
  for (const Line& line : table_lines(std::move(rows), out.columns())) out.line(line);
  for (const layout::LayoutReport& report : *reports) {
    for (const std::string& note : report.notes) out.warning(report.entry.id() + ": " + note);
    if (report.trouble) out.warning(report.entry.id() + ": " + report.trouble->message);
  }
  return 0;
}

// Physical but for its last name, which may be a symlink that should not be there.
std::string in_its_folder(const std::string& path) {
  const std::filesystem::path typed(path);
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::weakly_canonical(typed.parent_path(), error);
  return error ? path : (folder / typed.filename()).string();
}

// Of the layout below whose root the path lies; of several the innermost.
int ignore(VerbContext& context, layout::LockTable& table, const LayoutWords& given) {
  Output& out = context.out();
  const std::string path = in_its_folder(absolute(context, given.words[1]));
  const auto all = layout::load_layouts(table.realm(), table.settings());
  if (!all) return out.failed(all.error());
  const LayoutEntry* innermost = nullptr;
  for (const LayoutEntry& entry : *all) {
    const bool below = path.starts_with(entry.root + "/");
    const bool deeper = innermost == nullptr || entry.root.size() > innermost->root.size();
    if (below && deeper) innermost = &entry;
  }
  if (innermost == nullptr) {
    return out.failed({Code::kNotFound, quote(path) + " lies below no layout's root",
                       "see the roots: lockkeeper layout list"});
  }
  const auto done = layout::ignore_source(table, innermost->id(), path, !given.again);
  if (!done) return out.failed(done.error());
  out.object({{given.again ? "regarded" : "ignored", path}, {"layout", innermost->id()}});
  out.text(std::string(given.again ? "looking again at " : "passing over ") + path);
  return 0;
}

Result<void> check_words(const std::vector<std::string>& words) {
  const std::string& what = words.front();
  const std::size_t expected = what == "add" ? 3 : what == "list" ? 1 : 2;
  if (what != "add" && what != "remove" && what != "list" && what != "ignore") {
    return fail(Code::kUsage, "layout: unknown word " + quote(what),
                "write add, remove, list or ignore");
  }
  if (words.size() == expected) return {};
  return fail(Code::kUsage, "layout " + what + ": wrong number of words",
              "see: lockkeeper layout --help");
}

}  // namespace

int layout_verb(VerbContext& context) {
  LayoutWords given;
  Arguments& arguments = context.arguments();
  arguments.words("add KIND ROOT|remove ID|list|ignore PATH", given.words,
                  "KIND: mkdir, workflow, coordmcp, dirlock;\nPATH: a lock file to pass over");
  arguments.offer({"add", "remove", "list", "ignore"});
  arguments.value("--mode", given.mode, "MODE", "off, read (ours are not shown) or both");
  arguments.values("--option", given.options, "NAME=VALUE", "of the kind; may be repeated");
  arguments.flag("--again", given.again, "with ignore: look at it again");
  if (const auto status = context.parse_some(given.words, "what to do")) return *status;
  Output& out = context.out();
  if (auto fine = check_words(given.words); !fine) return out.failed(fine.error());
  auto open = context.open(std::vector<std::string>());
  if (!open) return out.failed(open.error());
  layout::LockTable& table = (*open)->table;
  const std::string& what = given.words.front();
  if (what == "add") return add(context, table, given);
  if (what == "list") return list(context, table);
  if (what == "ignore") return ignore(context, table, given);
  const auto removed = layout::remove_layout(table, given.words[1]);
  if (!removed) return out.failed(removed.error());
  out.object({{"removed", given.words[1]}});
  out.text("removed " + given.words[1]);
  return 0;
}

}  // namespace lockkeeper::cli
