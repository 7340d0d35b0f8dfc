#include "service/names.h"

#include <algorithm>

#include "base/text.h"
#include "core/encoding.h"
#include "key/path.h"
#include "key/resource.h"

namespace lockkeeper::service {
namespace {

// The canonical pattern that this name also stands for; empty: none.
std::string pattern_of(const std::string& name) {
  if (name.find_first_of("[{") == std::string::npos) return {};
  const auto parsed = key::parse(name, {}, key::Syntax::kGlob);
  const bool other = parsed && parsed->resource.is_glob() && parsed->resource.text() != name;
  return other ? parsed->resource.text() : "";
}

std::string body_text(const std::string& text) {
  return text == "./" ? "" : std::string(key::path_body(text));
}

}  // namespace

Spellings::Spellings(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    if (std::string pattern = pattern_of(text); !pattern.empty()) names_.try_emplace(pattern, text);
  }
}

const std::string& Spellings::of(const std::string& text) const {
  const auto found = names_.find(text);
  return found == names_.end() ? text : found->second;
}

std::vector<std::string> spelled(std::vector<std::string> texts) {
  const Spellings names(texts);
  std::erase_if(texts, [&](const std::string& text) { return names.has(text); });
  return texts;
}

std::vector<std::string> spelled_texts(const core::Lease& lease) {
  return spelled(core::resource_texts(lease));
}

std::vector<core::Claim> spelled_claims(const core::Lease& lease) {
  std::vector<core::Claim> claims = core::readable_claims(lease);
  const Spellings names(core::resource_texts(lease));
  std::erase_if(claims, [&](const core::Claim& claim) { return names.has(claim.resource.text()); });
  return claims;
}

std::string spelled_in(const core::Lease& lease, const std::string& text) {
  return Spellings(core::resource_texts(lease)).of(text);
}

std::string shell_name(std::string_view name) {
  return shell_quote((name.starts_with('-') ? "./" : "") + std::string(name));
}

void Names::set_typed(std::map<std::string, std::string> words) {
  std::vector<std::string> wanted;
  for (const auto& [canonical, word] : words) wanted.push_back(canonical);
  spellings = Spellings(wanted);
  typed = std::move(words);
}

std::string Names::name(const std::string& text) const {
  const std::string& written = spellings.of(text);
  // The characters of a class are sorted in a canonical text.
  const auto own = typed.find(written);
  if (own != typed.end() && place.empty() && root.empty() && written.contains('[')) {
    return own->second;
  }
  if (place.empty() || key::looks_logical(written)) return written;
  return place + body_text(written);
}

std::string Names::word(const std::string& text) const {
  const auto found = typed.find(text);
  if (found != typed.end()) return found->second;
  return root.empty() || key::looks_logical(text) ? text : root + body_text(text);
}

Names names_from(const std::string& folder, const realm::Realm& realm,
                 const realm::Environment& env) {
  Names names;
  if (realm.in_memory || realm.machine || folder.empty()) return names;
  const std::string there = realm.root == "/" ? "/" : realm.root + "/";
  if (folder != realm.root) names.root = there;
  const auto here = realm::realm_of(folder, env);
  if (here && here->same_table(realm)) return names;
  const std::string& from = here ? here->root : folder;
  const std::string above = from == "/" ? "/" : from + "/";
  names.place = there.starts_with(above) ? there.substr(above.size()) : there;
  return names;
}

}  // namespace lockkeeper::service
