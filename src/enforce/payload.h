// A payload as JSON, and its fields by name. Every error names the field.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::enforce {

// One thing, in the spellings of the clients. The first is the one that errors name.
using Names = std::initializer_list<const char*>;

// The payload's object. Refuses what is empty, too large or too deep, is not UTF-8 or not JSON, is
// not an object, or gives a key twice (a client might take the other one).
Result<nlohmann::json> read_object(std::string_view payload);

// The first of these that is there and is not null; nullptr: none.
const nlohmann::json* field(const nlohmann::json& object, Names names);
bool has(const nlohmann::json& object, Names names);

// A string; empty if there is none. Any other type is an error.
Result<std::string> text_field(const nlohmann::json& object, Names names);
// The same for a string that must be there and must not be empty.
Result<std::string> needed_text(const nlohmann::json& object, Names names);
// A name or an id: short and without hidden characters; may be missing.
Result<std::string> id_field(const nlohmann::json& object, Names names);

std::unexpected<Error> missing(const char* name);
std::unexpected<Error> wrong_type(const char* name, std::string_view wanted);

}  // namespace lockkeeper::enforce
