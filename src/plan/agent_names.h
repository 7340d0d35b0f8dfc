// Names made from agents' names, for what is divided between them.
#pragma once

#include <string>
#include <string_view>

namespace lockkeeper::plan {

// The words of `agent` that `other` has not: "frontend" of frontend-developer against
// backend-developer; the whole name where no word tells them apart. Harmless as a file's name.
std::string distinct_name(std::string_view agent, std::string_view other);

// "src/Button.tsx" with "frontend": "src/Button.frontend.tsx"; ".env": ".env.frontend".
std::string with_infix(const std::string& path, const std::string& word);

}  // namespace lockkeeper::plan
