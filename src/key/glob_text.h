// Converts between the text of a glob and its tokens.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "key/glob.h"

namespace lockkeeper::key {

// Braces are balanced, have at least two alternatives and stay within kBraceDepthMax and
// kBraceAlternativesMax (limit_exceeded); classes are closed and not empty. `doubtful_escape` is
// set if a backslash followed a name, as in `src\*.py`.
Result<Tokens> tokenise(std::string_view text, std::string_view shown, const GlobSyntax& syntax,
                        bool& doubtful_escape);

// The canonical spelling; tokenise() of it gives equal tokens.
std::string spell_tokens(const Tokens& tokens, const GlobSyntax& syntax);

}  // namespace lockkeeper::key
