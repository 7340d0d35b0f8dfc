// The list of layouts beside the store, of any text: read, or no lock is granted (I10).
#include "service/layouts.h"
#include "realm.h"

namespace lockkeeper::fuzz {
namespace {}  // namespace

void run(Input input) {
  write_file(realm().store_folder + "/" + std::string(service::kLayoutsName), input.rest());
  const auto entries = service::load_layouts(realm(), {});
  if (!entries) {
    require(entries.error().code == Code::kInvalidConfig, "refused with another code");
    return require_readable(entries.error());
  }
  for (const service::LayoutEntry& entry : *entries) {
    require(entry.root.starts_with('/'), "a relative place");
    require(entry.id().starts_with(entry.kind + "-"), "an id of another kind");
    require(service::layout_mode(service::layout_mode_name(entry.mode)) == entry.mode, "no mode");
  }
}

}  // namespace lockkeeper::fuzz
