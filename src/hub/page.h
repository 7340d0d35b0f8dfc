// The live page: static files of src/hub/page, as they were when this program was built. They are
// public, because they tell nothing; what they show comes from /v1, with the visitor's token.
//
// Thread safety: free functions.
#pragma once

#include <string_view>
#include <vector>

#include "http/server.h"

namespace lockkeeper::hub {

struct PageFile {
  std::string_view path;  // "/" for index.html, else "/page/NAME"
  std::string_view type;
  std::string_view etag;
  std::string_view text;
};

// Made by CMake.
const std::vector<PageFile>& page_files();

// nullptr: the page has no such file.
const PageFile* find_page_file(std::string_view path);
// 200, or 304 for a browser that has it already. Never blocks.
void answer_page(const http::Request& request, const PageFile& file, http::Reply& reply);

}  // namespace lockkeeper::hub
