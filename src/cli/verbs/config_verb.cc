// `config show`: the settings in force, and where each comes from.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/list_view.h"
#include "cli/verbs/verbs.h"

namespace lockkeeper::cli {

int config_verb(VerbContext& context) {
  std::vector<std::string> words;
  context.arguments().words("show", words, "the one thing to do with it");
  context.arguments().offer({"show"});
  if (const auto status = context.parse_some(words, "a word: show")) return *status;
  Output& out = context.out();
  if (words != std::vector<std::string>{"show"}) {
    return out.failed({Code::kUsage, "config: unknown word " + quote(words.back()),
                       "the settings are changed in lockkeeper.toml; see: lockkeeper config show"});
  }
  const auto realm = context.realm({});
  if (!realm) return out.failed(realm.error());
  const auto settings = realm::load_settings(*realm, context.runtime().env);
  if (!settings) return out.failed(settings.error());
  service::Json json = {{"realm", realm->root},
                        {"store", realm->store_folder},
                        {"files", settings->files},
                        {"settings", service::Json::array()}};
  std::vector<std::vector<Span>> rows = {
      {{"SETTING", Style::kBold}, {"VALUE", Style::kBold}, {"FROM", Style::kBold}}};
  for (const realm::SettingRow& row : realm::settings_rows(*settings)) {
    json["settings"].push_back({{"name", row.name}, {"value", row.value}, {"from", row.origin}});
    rows.push_back({{row.name}, {row.value}, {row.origin, Style::kDim}});
  }
  out.object(json);
  out.text("realm  " + realm->root + "\nstore  " + realm->store_folder + "\n");
  for (const Line& line : table_lines(std::move(rows), out.columns())) out.line(line);
  return 0;
}

}  // namespace lockkeeper::cli
