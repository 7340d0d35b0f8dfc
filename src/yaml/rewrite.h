// Changes a document in its own text; comments, order and quotes of everything else stay.
#pragma once

#include <string>
#include <string_view>

#include "yaml/document.h"

namespace lockkeeper::yaml {

struct Rewritten {
  std::string text;
  bool whole = false;  // could not be changed in place: all was written again
};

// Changes `text`, from which `before` was read, so that reading it gives `after`. Lists of strings
// may be reordered. If it cannot be changed in place (an aliased value), the whole document is
// written again, without its comments. JSON stays JSON.
Rewritten rewrite(std::string_view text, const Node& before, const Node& after);

// Are two documents equal, ignoring the order of keys and of strings in a list?
bool same_document(const Node& a, const Node& b);

// The value on one line.
std::string flow_text(const Node& node, bool json);
// The value on several lines; all but the first are indented by `indent`.
std::string block_text(const Node& node, std::size_t indent, bool json);

}  // namespace lockkeeper::yaml
