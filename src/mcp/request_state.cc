#include "mcp/request_state.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>

#include "base/bytes.h"

namespace lockkeeper::mcp {
namespace {

constexpr std::size_t kSealBytes = 2 * SHA256_DIGEST_SIZE;  // in hexadecimal

const std::uint8_t* bytes_of(const std::string& text) {
  return reinterpret_cast<const std::uint8_t*>(text.data());
}

// Independent of the order of the arguments.
std::string subject(const Call& call) {
  nlohmann::json about = nlohmann::json::array({call.method()});
  for (const char* const name : {"name", "uri", "arguments"}) {
    const auto found = call.params().find(name);
    about.push_back(found == call.params().end() ? nlohmann::json() : nlohmann::json(*found));
  }
  return about.dump();
}

}  // namespace

RequestState::Key RequestState::new_key(Random& random) {
  Key key;
  for (std::size_t i = 0; i < key.size(); i += 8) {
    const std::uint64_t number = random.next();
    for (std::size_t j = 0; j < 8; ++j) key[i + j] = static_cast<std::uint8_t>(number >> (8 * j));
  }
  return key;
}

std::string RequestState::sign(const Call& call, const std::string& payload) const {
  hmac_sha256_ctx context;
  hmac_sha256_set_key(&context, key_.size(), key_.data());
  const std::string about = subject(call);
  const std::string length = std::to_string(about.size()) + ":";  // keeps the parts apart
  for (const std::string* const part : {&length, &about, &payload}) {
    hmac_sha256_update(&context, part->size(), bytes_of(*part));
  }
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> seal{};
  hmac_sha256_digest(&context, seal.size(), seal.data());
  return to_hex({reinterpret_cast<const char*>(seal.data()), seal.size()});
}

std::string RequestState::seal(const Call& call, const Json& state) const {
  const std::int64_t until_ms = clock_.now().mono_ms + lifetime_ms_;
  const std::string payload = line_of(Json{{"until_ms", until_ms}, {"state", state}});
  return sign(call, payload) + to_hex(payload);
}

RequestState::Opened RequestState::open(const Call& call) const {
  Opened opened;
  const auto found = call.params().find("requestState");
  if (found == call.params().end()) return opened;
  opened.given = true;
  if (!found->is_string()) return opened;
  const std::string text = found->get<std::string>();
  if (text.size() <= kSealBytes) return opened;
  const std::string payload = from_hex(std::string_view(text).substr(kSealBytes));
  if (payload.empty()) return opened;
  const std::string seal = sign(call, payload);
  if (memeql_sec(seal.data(), text.data(), kSealBytes) == 0) return opened;
  // The seal is valid, so the shape is ours.
  const Json json = Json::parse(payload);
  if (json["until_ms"].get<std::int64_t>() < clock_.now().mono_ms) return opened;
  opened.state = json["state"];
  return opened;
}

Answer RequestState::refusal() {
  return Answer::failed(code::kInvalidParams,
                        "\"requestState\" is not what this server gave for this call, or is too "
                        "old; call again without it");
}

}  // namespace lockkeeper::mcp
