#include "core/answers.h"

#include "base/bytes.h"
#include "base/text.h"
#include "core/condition.h"

namespace lockkeeper::core {
namespace {

constexpr std::uint64_t kAnswerFormat = 1;

std::unexpected<Error> damaged_answer() {
  return fail(Code::kStoreCorrupt, "a kept answer in the store cannot be read");
}

}  // namespace

std::string encode_answer(const Answer& answer) {
  RecordWriter out;
  out.number(kAnswerFormat);
  out.text(answer.request_id);
  out.number(answer.arguments);
  out.number(answer.complete ? 1 : 0);
  out.text(answer.text);
  return out.take();
}

Result<Answer> decode_answer(std::string_view value) {
  RecordReader in(value);
  if (in.number() != kAnswerFormat) return damaged_answer();
  Answer answer;
  answer.request_id = in.text();
  answer.arguments = in.number();
  answer.complete = in.number() != 0;
  answer.text = in.text();
  if (!in.at_end()) return damaged_answer();
  return answer;
}

Result<std::optional<Answer>> find_answer(State& state, const Owner& owner,
                                          std::string_view request_id, std::uint64_t arguments) {
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(answer_key(owner, request_id)));
  if (!row) return std::nullopt;
  LK_ASSIGN(Answer answer, decode_answer(row->value));
  if (answer.request_id != request_id || answer.arguments != arguments) {
    return fail(Code::kInvalidInput,
                "the request id " + quote(std::string(request_id)) + " was used for another call",
                "give every call an id of its own");
  }
  return answer;
}

Result<void> keep_answer(State& state, const Owner& owner, const Answer& answer) {
  const std::size_t limit = state.context().limits.name_bytes;
  if (answer.request_id.size() > limit) {
    return fail(Code::kLimitExceeded,
                "the request id has " + std::to_string(answer.request_id.size()) +
                    " bytes; at most " + std::to_string(limit) + " are allowed",
                "use a shorter id");
  }
  const std::string key = answer_key(owner, answer.request_id);
  LK_ASSIGN(const std::optional<kv::Row> known, state.txn().get(key));
  LK_CHECK(state.txn().put(key, encode_answer(answer)));
  if (known) return {};
  return state.file_due(remembered_until(state.context()), Due::kAnswer,
                        std::string_view(key).substr(1));
}

}  // namespace lockkeeper::core
