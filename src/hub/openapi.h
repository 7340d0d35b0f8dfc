// docs/openapi.json, as it was when this program was built.
#pragma once

#include <string_view>

namespace lockkeeper::hub {

extern const std::string_view kOpenApi;

}  // namespace lockkeeper::hub
