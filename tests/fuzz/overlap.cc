// Patterns made of few letters, each byte one piece of them: overlap(), covers() and subsumes()
// against a matcher that tries all small names.
#include "fuzz.h"
#include "key/oracle_testing.h"

namespace lockkeeper::fuzz {
namespace {

using key::Entry;
using key::World;

constexpr std::size_t kPiecesMax = 12;  // the matcher takes exponential time
constexpr std::uint8_t kEndOfText = 0;

World with_signs(World world) {
  const std::string separator(1, world.separator);
  for (const char* sign : {"[", "]", "{", "}", ",", "!", "-", "\\", "**", "*", "?"}) {
    world.atoms.push_back(sign);
  }
  for (int i = 0; i < 4; ++i) world.atoms.push_back(separator);
  world.atoms.push_back("**" + separator);
  world.atoms.push_back(separator + "**");
  return world;
}

const World& world_of(unsigned choice) {
  static const World kWorlds[] = {with_signs(key::path_world()),
                                  with_signs(key::word_world("flag:", '/')),
                                  with_signs(key::word_world("event:", '.'))};
  return kWorlds[choice % 4 < 2 ? 0 : choice % 4 - 1];
}

std::string text_of(Input& input, const World& world) {
  std::string text = world.prefix;
  for (std::size_t pieces = 0; pieces < kPiecesMax && !input.empty(); ++pieces) {
    const std::uint8_t piece = input.byte();
    if (piece == kEndOfText) break;
    text += world.atoms[piece % world.atoms.size()];
  }
  return text;
}

}  // namespace

void run(Input input) {
  const World& world = world_of(input.byte());
  std::vector<Entry> entries;
  while (!input.empty() && entries.size() < 3) {
    std::string problem;
    auto entry = key::read_entry(text_of(input, world), world, problem);
    require(problem.empty(), problem);
    if (entry) entries.push_back(std::move(*entry));
  }
  for (const Entry& a : entries) {
    for (const Entry& b : entries) {
      bool overlapping = false;
      const std::string problem = key::pair_problem(a, b, world, overlapping);
      require(problem.empty(), problem);
      require(overlapping || &a != &b, a.given + " does not overlap itself");
      const std::string inclusion = key::inclusion_problem(a, b, entries);
      require(inclusion.empty(), inclusion);
    }
  }
}

}  // namespace lockkeeper::fuzz
