// How people read and type what a table calls by its canonical text.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "realm/realm.h"

namespace lockkeeper::service {

// A word with brackets stands for a pattern and for the file of that name, so a lease on it has
// both: `app/[glsu]/page.tsx`, which is canonical, and `app/[slug]/page.tsx`. People know only the
// second. JSON and the table have both.

// The patterns among some texts, with the names that they were written as.
class Spellings {
 public:
  Spellings() = default;
  explicit Spellings(const std::vector<std::string>& texts);
  bool has(const std::string& text) const { return names_.contains(text); }
  const std::string& of(const std::string& text) const;  // the text itself, if it has no other

 private:
  std::map<std::string, std::string> names_;
};

// The texts, or claims, without such patterns.
std::vector<std::string> spelled(std::vector<std::string> texts);
std::vector<std::string> spelled_texts(const core::Lease& lease);
std::vector<core::Claim> spelled_claims(const core::Lease& lease);
// One text: the name among the lease's that it was written as, or the text itself.
std::string spelled_in(const core::Lease& lease, const std::string& text);

// The name of a file or key as a command takes it: "./-x", because "-x" would be a flag.
std::string shell_name(std::string_view name);

// The names of one table, for whoever asks from some folder.
struct Names {
  std::string place;  // of another realm: "inner/", "/srv/other/"; empty: the asker is in this one
  std::string root;   // absolute, with "/"; empty: the asker is at the root
  std::map<std::string, std::string> typed;  // by canonical text: the word that stands for it
  Spellings spellings;                       // of the same texts
  void set_typed(std::map<std::string, std::string> words);

  // In a message: where it is, seen from the asker.
  std::string name(const std::string& text) const;
  // In a command: what the asker typed, or what it can type.
  std::string word(const std::string& text) const;
};

// `place` and `root` of a realm, for whoever asks in `folder`.
Names names_from(const std::string& folder, const realm::Realm& realm,
                 const realm::Environment& env);

}  // namespace lockkeeper::service
