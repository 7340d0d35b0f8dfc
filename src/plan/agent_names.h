// Names made from agents' names, for files and folders that are divided between them.
#pragma once

#include <string>
#include <string_view>

namespace lockkeeper::plan {

// The words of `agent` that `other` lacks: "frontend" for frontend-developer against
// backend-developer; the whole name if no word differs. Safe as a file name.
std::string distinct_name(std::string_view agent, std::string_view other);

// "src/Button.tsx" with "frontend": "src/Button.frontend.tsx"; ".env": ".env.frontend".
std::string with_infix(const std::string& path, const std::string& word);

}  // namespace lockkeeper::plan
