#include "crew/orders.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "crew/record/whole_number.h"
#include "host/pipes.h"

namespace lockkeeper::crew {
namespace {

// The table bounds names and reasons; the sender cuts lists of them.
constexpr std::size_t kMessageBytesMax = 64 << 10;

// Arguments may hold any bytes, JSON only text: each byte becomes one code point.
std::string bytes_as_text(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

std::string text_as_bytes(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x80 && i + 1 < text.size()) {
      bytes += static_cast<char>((byte & 0x03) << 6 | (text[++i] & 0x3F));
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

std::vector<std::string> each(const std::vector<std::string>& list,
                              std::string (*change)(const std::string&)) {
  std::vector<std::string> result;
  result.reserve(list.size());
  for (const std::string& one : list) result.push_back(change(one));
  return result;
}

Json tree_orders_json(const TreeOrders& tree) {
  return {{"checkout", bytes_as_text(tree.checkout)},
          {"folder", bytes_as_text(tree.folder)},
          {"branch", tree.branch},
          {"base", tree.base},
          {"with", tree.with},
          {"message", bytes_as_text(tree.message)},
          {"copy", tree.patterns.copy},
          {"link", tree.patterns.link}};
}

TreeOrders tree_orders_from(const Json& json) {
  TreeOrders tree;
  tree.checkout = text_as_bytes(json.at("checkout").get<std::string>());
  tree.folder = text_as_bytes(json.at("folder").get<std::string>());
  tree.branch = json.at("branch").get<std::string>();
  tree.base = json.at("base").get<std::string>();
  tree.with = json.at("with").get<std::vector<std::string>>();
  tree.message = text_as_bytes(json.at("message").get<std::string>());
  tree.patterns.copy = json.at("copy").get<std::vector<std::string>>();
  tree.patterns.link = json.at("link").get<std::vector<std::string>>();
  return tree;
}

}  // namespace

std::string orders_text(const Orders& orders) {
  Json json{{"number", orders.number},
            {"agent", orders.agent},
            {"session", orders.session},
            {"locks", orders.locks},
            {"ttl_ms", orders.ttl_ms},
            {"reason", orders.reason},
            {"task", orders.task},
            {"feature", orders.feature},
            {"argv", each(orders.command.words, bytes_as_text)},
            {"shell", orders.command.shell},
            {"folder", bytes_as_text(orders.folder)},
            {"timeout_ms", orders.timeout_ms},
            {"grace_ms", orders.grace_ms},
            {"log_bytes_max", orders.log_bytes_max},
            {"look_at_changes", orders.detect_changes},
            {"leave_out", each(orders.leave_out, bytes_as_text)}};
  if (orders.tree) json["tree"] = tree_orders_json(*orders.tree);
  json["environment"] = Json::object();
  for (const auto& [name, value] : orders.environment) {
    json["environment"][name] = bytes_as_text(value);
  }
  return json.dump();
}

Result<Orders> orders_from(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    Orders orders;
    orders.number = whole_number<std::size_t>(json.at("number"));
    orders.agent = json.at("agent").get<std::string>();
    orders.session = json.at("session").get<std::string>();
    orders.locks = json.at("locks").get<std::vector<std::string>>();
    orders.ttl_ms = whole_number<std::int64_t>(json.at("ttl_ms"));
    orders.reason = json.at("reason").get<std::string>();
    orders.task = json.at("task").get<std::string>();
    orders.feature = json.at("feature").get<std::string>();
    orders.command = {each(json.at("argv").get<std::vector<std::string>>(), text_as_bytes),
                      json.at("shell").get<bool>()};
    orders.folder = text_as_bytes(json.at("folder").get<std::string>());
    orders.timeout_ms = whole_number<std::int64_t>(json.at("timeout_ms"));
    orders.grace_ms = whole_number<std::int64_t>(json.at("grace_ms"));
    orders.log_bytes_max = whole_number<std::uint64_t>(json.at("log_bytes_max"));
    orders.detect_changes = json.at("look_at_changes").get<bool>();
    orders.leave_out = each(json.at("leave_out").get<std::vector<std::string>>(), text_as_bytes);
    for (const auto& [name, value] : json.at("environment").items()) {
      orders.environment[name] = text_as_bytes(value.get<std::string>());
    }
    if (json.contains("tree")) orders.tree = tree_orders_from(json.at("tree"));
    if (orders.command.empty() || orders.locks.empty()) {
      return fail(Code::kInvalidInput, "the orders have no command or no lock");
    }
    return orders;
  } catch (const std::exception& error) {
    return fail(Code::kInvalidInput, "not orders: " + quote(error.what()));
  }
}

Result<std::pair<Channel, Channel>> Channel::pair() {
  LK_ASSIGN(auto ends, host::make_message_channel());
  return std::pair(Channel(std::move(ends.first)), Channel(std::move(ends.second)));
}

bool Channel::send(const Message& message) const {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == static_cast<ssize_t>(text.size());
}

std::optional<Channel::Message> Channel::receive(int wait_ms) {
  pollfd wanted{fd_.get(), POLLIN, 0};
  if (gone_ || ::poll(&wanted, 1, wait_ms) <= 0) return std::nullopt;
  std::string text(kMessageBytesMax, '\0');
  const ssize_t n = ::recv(fd_.get(), text.data(), text.size(), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (n <= 0) {
    gone_ = true;
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(n));
  Message message = Json::parse(text, nullptr, false);
  if (message.is_object()) return message;
  return Message::object();
}

}  // namespace lockkeeper::crew
