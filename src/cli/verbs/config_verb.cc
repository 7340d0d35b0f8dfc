// `config show`: the settings in force, and where each comes from.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/verbs/list_view.h"
#include "cli/verbs/verbs.h"
#include "layout/registry.h"

namespace lockkeeper::cli {
namespace {

// A file of the realm by its name there.
std::string short_origin(const std::string& origin, const std::string& root) {
  const bool inside = origin.starts_with(root + "/");
  return inside ? origin.substr(root.size() + 1) : origin;
}

Result<int> config_show(VerbContext& context) {
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  LK_ASSIGN(const auto realm, context.realm({}));
  LK_ASSIGN(const auto settings, layout::load_settings(context.runtime(), realm));
  service::Json json = {{"realm", realm.root},
                        {"store", realm.store_folder},
                        {"files", settings.files},
                        {"settings", service::Json::array()}};
  std::vector<Row> rows = {header({"SETTING", "FROM", "VALUE"})};
  for (const realm::SettingRow& row : realm::settings_rows(settings)) {
    json["settings"].push_back(
        {{"name", row.name}, {"value", service::Json::parse(row.json)}, {"from", row.origin}});
    // The value is last: a list may be long.
    rows.push_back({{row.name}, {short_origin(row.origin, realm.root), Style::kDim}, {row.value}});
  }
  out.object(json);
  out.text("realm  " + realm.root + "\nstore  " + realm.store_folder);
  const char* label = "files  ";
  for (const std::string& file : realm::settings_files(realm, context.runtime().env)) {
    const bool read = std::ranges::find(settings.files, file) != settings.files.end();
    out.text(label + file + (read ? "" : " (none)"));
    label = "       ";
  }
  out.text("");
  for (const Line& line : wrapped_table_lines(std::move(rows), out.columns())) out.line(line);
  return 0;
}

constexpr Verb kConfigSubcommands[] = {
    {"show", "The settings, and the line of lockkeeper.toml that sets each",
     "  lockkeeper config show\n"
     "  lockkeeper config show --json\n",
     config_show, Does::kLook},
};

}  // namespace

std::span<const Verb> config_subcommands() {
  return kConfigSubcommands;
}

}  // namespace lockkeeper::cli
