// A path or pattern as somebody types it, on a small tree with symlinks: what it is resolved to has
// that one name, also when it is typed again from the root.
#include <unistd.h>

#include <filesystem>

#include "fuzz.h"
#include "realm/resolve.h"

namespace lockkeeper::fuzz {
namespace {

const realm::Realm& realm() {
  static const realm::Realm kRealm = [] {
    const std::string root = std::filesystem::canonical(scratch()) / "tree";
    for (const char* folder : {"src/sub", "app/[slug]", ".lockkeeper", "deep/a/b/c", "{x,y}"}) {
      std::filesystem::create_directories(root + "/" + folder);
    }
    for (const char* file : {"src/a.py", "app/[slug]/page.tsx", "*", "notes:today.md"}) {
      write_file(root + "/" + file, "");
    }
    const char* links[][2] = {{"src", "to-src"},         {"loop", "loop"},
                              {"../..", "src/out"},      {"deep/a", "src/far"},
                              {"missing", "to-nowhere"}, {"../src/a.py", "deep/a.py"}};
    for (const auto& link : links) {
      require(::symlink(link[0], (root + "/" + link[1]).c_str()) == 0, "symlink");
    }
    realm::Realm made;
    made.root = root;
    made.store_folder = root + "/.lockkeeper";
    made.name = "tree";
    return made;
  }();
  return kRealm;
}

}  // namespace

void run(Input input) {
  const unsigned choice = input.byte();
  const auto nothing = [](const char*) { return std::optional<std::string>(); };
  const key::Syntax syntaxes[] = {key::Syntax::kAuto, key::Syntax::kLiteral, key::Syntax::kGlob,
                                  key::Syntax::kAuto};
  realm::Base base;
  if ((choice & 4) != 0) base = {realm::Base::kCwd, realm().root + "/src/sub", false};
  realm::ResolveOptions options;
  options.convert_backslash = (choice & 8) != 0;
  realm::Resolver resolver(realm(), {}, base, nothing, options);
  const auto parsed = resolver.resolve(input.rest(), syntaxes[choice & 3]);
  if (!parsed) return require_readable(parsed.error());
  const key::Resource& first = parsed->resource;
  const bool plain = first.kind() == key::Kind::kFile || first.kind() == key::Kind::kFolder;
  const key::Syntax same = plain             ? key::Syntax::kLiteral
                           : first.is_path() ? key::Syntax::kGlob
                                             : key::Syntax::kAuto;
  realm::Resolver from_root(realm(), {}, {}, nothing);
  const auto again = from_root.resolve(first.text(), same);
  require(again.has_value(), "its own name is refused: " + first.text());
  require(again->resource == first,
          "two names: " + first.text() + " and " + again->resource.text());
}

}  // namespace lockkeeper::fuzz
