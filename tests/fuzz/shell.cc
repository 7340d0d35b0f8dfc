// The text of a shell call: any text is read in bounded time, what is found in it is bounded and
// readable, and what a command does does not depend on how its words are quoted.
#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "enforce/shell/danger.h"
#include "fuzz.h"

namespace lockkeeper::fuzz {
namespace {

using namespace lockkeeper::enforce::shell;

void check_folder(const Folder& folder) {
  require(folder.known || folder.path.empty(), "a folder that is not known has a name");
}

void check_found(const Found& found) {
  require(found.dangers.size() <= kDangersMax && found.aliases.size() <= kDangersMax,
          "too much is found");
  for (const Danger& danger : found.dangers) {
    check_folder(danger.folder);
    require(!danger.typed.empty() && danger.typed.size() <= kTypedBytesMax, "what was typed");
    const bool paths = danger.scope == Danger::Scope::kPaths;
    require(!paths || !danger.paths.empty() || danger.paths_unknown, "it is about nothing");
    for (const Path& path : danger.paths) {
      require(!path.pattern || path.text.find('[') == std::string::npos, "a pattern with a list");
    }
  }
  for (const Alias& alias : found.aliases) {
    check_folder(alias.folder);
    require(!alias.name.empty(), "an alias without a name");
  }
}

bool same(const Danger& a, const Danger& b) {
  const auto text = [](const Path& path) { return path.text; };
  return a.kind == b.kind && a.scope == b.scope && a.names == b.names && a.whole == b.whole &&
         a.tracked == b.tracked && a.untracked == b.untracked && a.ignored == b.ignored &&
         a.if_configured == b.if_configured && a.maybe_file == b.maybe_file &&
         a.folder.path == b.folder.path && a.folder.known == b.folder.known &&
         std::ranges::equal(a.paths, b.paths, {}, text, text);
}

// The words of one git are judged alike with a shell and without.
void check_words(const std::vector<std::string>& words) {
  const Found plain = look_at_git(words);
  check_found(plain);
  std::string quoted = "git";
  for (const std::string& word : words) quoted += " " + shell_quote(word);
  const Found read = look_at_script(quoted);
  require(std::ranges::equal(plain.dangers, read.dangers, same), "quotes change what git does");
  require(plain.aliases.size() == read.aliases.size(), "quotes change an alias");
  const Found inner = look_at_script("cd . && sh -c " + shell_quote(quoted));
  require(std::ranges::equal(plain.dangers, inner.dangers, same), "a shell changes what git does");
  const Found data = look_at_script("cat <<'THE END OF IT'\n" + quoted + "\nTHE END OF IT\n");
  const bool ends = quoted.find("THE END OF IT") != std::string::npos;
  require(ends || data.empty(), "a heredoc is taken for commands");
}

}  // namespace

// The first byte says what follows: a text, or words, one a line.
void run(Input input) {
  const bool text = input.byte() % 2 == 0;
  if (text) return check_found(look_at_script(input.rest()));
  std::vector<std::string> words;
  while (!input.empty()) {
    words.emplace_back(input.line());
    if (words.back().find('\0') != std::string::npos) words.pop_back();
  }
  check_words(words);
}

}  // namespace lockkeeper::fuzz
