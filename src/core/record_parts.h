// What the records of several kinds have in common (encoding.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "core/types.h"

namespace lockkeeper::core {

inline constexpr std::uint64_t kFormat = 1;

inline std::unexpected<Error> damaged(std::string_view what) {
  return fail(Code::kStoreCorrupt, "a " + std::string(what) + " in the store cannot be read",
              "run: lockkeeper doctor");
}

inline void write_owner(RecordWriter& out, const Owner& owner) {
  out.text(owner.agent);
  out.text(owner.session);
}

inline Owner read_owner(RecordReader& in) {
  Owner owner;
  owner.agent = in.text();
  owner.session = in.text();
  return owner;
}

inline void write_owners(RecordWriter& out, const std::vector<Owner>& owners) {
  out.number(owners.size());
  for (const Owner& owner : owners) write_owner(out, owner);
}

inline std::vector<Owner> read_owners(RecordReader& in) {
  std::vector<Owner> owners;
  const std::uint64_t count = in.number();
  for (std::uint64_t i = 0; i < count && !in.failed(); ++i) owners.push_back(read_owner(in));
  return owners;
}

inline void write_texts(RecordWriter& out, const std::vector<std::string>& texts) {
  out.number(texts.size());
  for (const std::string& text : texts) out.text(text);
}

inline std::vector<std::string> read_texts(RecordReader& in) {
  std::vector<std::string> texts;
  const std::uint64_t count = in.number();
  for (std::uint64_t i = 0; i < count && !in.failed(); ++i) texts.emplace_back(in.text());
  return texts;
}

}  // namespace lockkeeper::core
