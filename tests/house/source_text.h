// C++ source as the checks need it: without comments and literals, line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::house {

// The same text with every comment, string and character literal replaced by blanks. Line breaks
// stay, so line numbers do. The paths of #include lines stay, too.
std::string code_only(std::string_view text);

std::vector<std::string_view> lines_of(std::string_view text);

// Columns as an editor counts them: code points.
std::size_t columns(std::string_view line);

}  // namespace lockkeeper::house
