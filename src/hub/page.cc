#include "hub/page.h"

#include <algorithm>
#include <string>

namespace lockkeeper::hub {
namespace {

// Nothing of another site, no text as code, no frame around the page.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

}  // namespace

const PageFile* find_page_file(std::string_view path) {
  const auto found = std::ranges::find(page_files(), path, &PageFile::path);
  return found == page_files().end() ? nullptr : &*found;
}

void answer_page(const http::Request& request, const PageFile& file, http::Reply& reply) {
  http::Headers headers = {{"Content-Type", std::string(file.type)},
                           {"Content-Security-Policy", kPolicy},
                           {"X-Content-Type-Options", "nosniff"},
                           {"Referrer-Policy", "no-referrer"},
                           {"Cross-Origin-Opener-Policy", "same-origin"},
                           {"Cross-Origin-Resource-Policy", "same-origin"},
                           {"Cache-Control", "no-cache"},
                           {"ETag", std::string(file.etag)}};
  const std::string* const known = request.header("If-None-Match");
  if (known != nullptr && *known == file.etag) {
    return reply.whole(304, headers, "");
  }
  reply.whole(200, headers, std::string(file.text));
}

}  // namespace lockkeeper::hub
