// The plan of the house: which folder of src/ may include which. A room that is not in the plan is
// an error, so that a new folder is a decision and not an accident.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::house {

// All rooms, e.g. "core" and "kv/lmdb".
const std::vector<std::string>& all_rooms();

// The room of a path below src/ ("kv/lmdb/gate.h" is of "kv/lmdb"); empty if it is of none.
std::string room_of(std::string_view path_below_src);

// The rooms that `room` may include besides itself; tests may include the stores as well, because
// what they test needs a real one.
std::set<std::string> allowed_rooms(const std::string& room, bool is_test);

// Rooms that are given the time, random numbers and process ids, and never ask for them.
bool is_pure(const std::string& room);

// Rooms that reach the lock table only through the service: they never see a transaction.
bool is_door(const std::string& room);

// "kv_lmdb" is the CMake name of "kv/lmdb".
// Whether the room may call what only Linux has.
bool may_use_linux(const std::string& room);

std::string cmake_name(std::string room);

}  // namespace lockkeeper::house
