// TOML files of other programs: read as JSON, and one table of theirs put in or taken out by text.
// Every other byte stays.
//
// Thread safety: plain functions without state.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace lockkeeper::install {

// The whole document. Fractions, dates and times are texts. invalid_config, as "FILE:LINE: …".
Result<Json> toml_as_json(const std::string& text, const std::string& file);

// The value at this path; null: none.
const Json* json_at(const Json& document, const std::vector<std::string>& path);

// The text with the table `path`, whose `fields` (texts, lists of texts, truths) have these values;
// its other fields stay. The text itself if they have them already. invalid_config: the file is not
// TOML, or the table is written in a way (inline, dotted) that must be changed by hand.
Result<std::string> put_toml_table(const std::string& text, const std::string& file,
                                   const std::vector<std::string>& path, const Json& fields);

// The text without the table `path` and the tables in it; the text itself if there is none. Errors
// as above.
Result<std::string> remove_toml_table(const std::string& text, const std::string& file,
                                      const std::vector<std::string>& path);

// The text without this field of the table `path`, and without the table if nothing else is in it;
// the text itself if there is no such field. Errors as above.
Result<std::string> remove_toml_field(const std::string& text, const std::string& file,
                                      const std::vector<std::string>& path,
                                      const std::string& field);

}  // namespace lockkeeper::install
