// Answers kept for callers that repeat a call (rule 12): a caller that cannot know whether its call
// was carried out repeats it with the same request id. Acquiring needs none of this: its request
// ids lead to the lease (Table::acquire).
//
// A call that takes several commits keeps what it has answered so far with each of them, so that a
// repetition goes on where it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/state.h"

namespace lockkeeper::core {

struct Answer {
  std::string request_id;
  std::uint64_t arguments = 0;  // digest of the call
  bool complete = false;
  std::string text;
};
std::string encode_answer(const Answer& answer);
Result<Answer> decode_answer(std::string_view value);

// What was kept for this call; nullopt: nothing. invalid_input: the id was used for another call.
Result<std::optional<Answer>> find_answer(State& state, const Owner& owner,
                                          std::string_view request_id, std::uint64_t arguments);
// Forgotten after Limits::remember_ms. limit_exceeded: the request id is too long.
Result<void> keep_answer(State& state, const Owner& owner, const Answer& answer);

}  // namespace lockkeeper::core
