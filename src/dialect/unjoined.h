// Lock files of other tools that a realm does not read yet.
#pragma once

#include <string>
#include <vector>

#include "layout/layout.h"

namespace lockkeeper::dialect {

struct Unjoined {
  std::string kind;
  std::string root;   // absolute
  std::string found;  // what was seen there
};

// Folders that look like the locks of one of the protocols and are not among the realm's layouts:
// those up to two levels below its root, and where the protocols keep theirs outside. Looks at a
// few thousand names at most, and skips what cannot be read. Writes nothing.
std::vector<Unjoined> find_unjoined(const layout::LayoutContext& context);

// "… looks like locks of another tool (mkdir), which are ignored until you add them:
// lockkeeper layout add mkdir spec".
std::string unjoined_text(const Unjoined& unjoined);

}  // namespace lockkeeper::dialect
