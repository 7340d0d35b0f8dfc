// One call as it changes the table. Its last commit also takes the caller's notices. If the call
// has a request id, its commits keep the answer, and a repetition of the call gets that answer.
//
// Thread safety: none; one for each call.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "layout/lock_table.h"
#include "service/calls.h"
#include "service/replies.h"
#include "service/wire/codec.h"

namespace lockkeeper::service::local {

class Change {
 public:
  // `arguments`: a digest of the call. Both references must outlive it.
  Change(layout::LockTable& table, const Caller& caller, std::uint64_t arguments = 0)
      : table_(table), caller_(caller), arguments_(arguments) {}

  struct Kept {
    std::function<void()> committed;  // after each commit
    // The call's answer if this commit succeeds. Empty: a repetition finds out by itself.
    std::function<std::string()> answer;
    bool last = true;  // false: more writes of this call will follow
  };
  // As LockTable::write. Does nothing once an earlier answer was found.
  Result<kv::Version> write(const layout::LockTable::Work& work, const Kept& kept);
  Result<kv::Version> write(const layout::LockTable::Work& work) { return write(work, Kept{}); }
  layout::LockTable::Write writer();  // write() as a value, without an answer

  // Has an earlier call with this id got an answer, at least in part?
  bool has_earlier() const { return earlier_.has_value(); }
  bool is_repeated() const { return repeated_; }  // it is complete
  template <typename Answer>
  Result<Answer> earlier() const {  // REQUIRES: has_earlier()
    return wire::from_text<Answer>(*earlier_, *table_.runtime().clock);
  }
  Result<void> look_for_earlier();  // for calls that do something before their first write

  // What the caller asked to be told and the commits did not bring, in a commit of its own if
  // there is anything.
  Result<void> take_notices();
  Notices& notices() { return notices_; }

 private:
  Result<bool> find_earlier(core::Table& table);
  Result<void> keep(core::Table& table, std::string text, bool complete) const;
  Result<Notices> collect(core::Table& table) const;

  layout::LockTable& table_;
  const Caller& caller_;
  const std::uint64_t arguments_;
  std::optional<std::string> earlier_;
  bool repeated_ = false;  // the earlier answer is complete
  bool began_ = false;     // a commit of this call has kept an answer
  Notices notices_;
};

}  // namespace lockkeeper::service::local
