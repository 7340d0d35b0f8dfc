// A document changed in its own text: comments, order and quotes of everything else stay.
#pragma once

#include <string>
#include <string_view>

#include "yaml/document.h"

namespace lockkeeper::yaml {

struct Rewritten {
  std::string text;
  bool whole = false;  // the change could not be made in place: all was written anew
};

// `text`, of which `before` was read, so that reading it gives `after`. Lists of texts may come out
// in another order. What cannot be changed in place (a value that others use by an alias) makes the
// whole document be written anew, without its comments. JSON stays JSON.
Rewritten rewrite(std::string_view text, const Node& before, const Node& after);

// Do two documents say the same? The order of keys, and of texts in a list, is left aside.
bool same_document(const Node& a, const Node& b);

// The value in one line, as JSON and YAML.
std::string flow_text(const Node& node, bool json);
// The value in lines of YAML (JSON: indented), from the second on indented by `indent`.
std::string block_text(const Node& node, std::size_t indent, bool json);

}  // namespace lockkeeper::yaml
