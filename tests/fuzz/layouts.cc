// The list of layouts beside the store, of any text: read, or no lock is granted (I10).
#include "layout/registry.h"
#include "realm.h"

namespace lockkeeper::fuzz {
namespace {}  // namespace

void run(Input input) {
  write_file(realm().store_folder + "/" + std::string(layout::kLayoutsName), input.rest());
  const auto entries = layout::load_layouts(realm(), {});
  if (!entries) {
    require(entries.error().code == Code::kInvalidConfig, "refused with another code");
    return require_readable(entries.error());
  }
  for (const layout::LayoutEntry& entry : *entries) {
    require(entry.root.starts_with('/'), "a relative place");
    require(entry.id().starts_with(entry.kind + "-"), "an id of another kind");
    require(layout::layout_mode(layout::layout_mode_name(entry.mode)) == entry.mode, "no mode");
  }
}

}  // namespace lockkeeper::fuzz
