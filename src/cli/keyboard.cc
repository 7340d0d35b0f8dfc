#include "cli/keyboard.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>

#include "base/text.h"

namespace lockkeeper::cli {
namespace {

constexpr char kEscapeSign = '\x1b';

struct KnownKey {
  std::string_view bytes;
  Key::Kind kind;
};
constexpr KnownKey kSequences[] = {
    {"\x1b[A", Key::Kind::kUp},      {"\x1bOA", Key::Kind::kUp},
    {"\x1b[B", Key::Kind::kDown},    {"\x1bOB", Key::Kind::kDown},
    {"\x1b[5~", Key::Kind::kPageUp}, {"\x1b[6~", Key::Kind::kPageDown},
    {"\x1b[H", Key::Kind::kFirst},   {"\x1bOH", Key::Kind::kFirst},
    {"\x1b[1~", Key::Kind::kFirst},  {"\x1b[F", Key::Kind::kLast},
    {"\x1bOF", Key::Kind::kLast},    {"\x1b[4~", Key::Kind::kLast},
    {"\r", Key::Kind::kEnter},       {"\n", Key::Kind::kEnter},
    {"\t", Key::Kind::kTab},         {"\x7f", Key::Kind::kBack},
    {"\b", Key::Kind::kBack},        {"\x15", Key::Kind::kEraseLine},
    {"\x0c", Key::Kind::kRedraw},    {"\x1a", Key::Kind::kSuspend},
};

// Bytes of the escape sequence at the front; 0: it has only begun.
std::size_t sequence_size(std::string_view bytes) {
  if (bytes.size() < 2) return 0;
  if (bytes[1] == 'O') return bytes.size() < 3 ? 0 : 3;
  if (bytes[1] != '[') return 1;  // Escape, then another key
  for (std::size_t i = 2; i < bytes.size(); ++i) {
    if (bytes[i] >= '@' && bytes[i] <= '~') return i + 1;
  }
  return 0;
}

// Bytes of the key at the front; 0: it has only begun.
std::size_t key_size(std::string_view bytes, bool all) {
  if (bytes.front() == kEscapeSign) {
    const std::size_t size = sequence_size(bytes);
    return size == 0 && all ? bytes.size() : size;
  }
  const std::size_t size = utf8_size(bytes);
  if (size > 0) return size;
  const bool begun = static_cast<unsigned char>(bytes.front()) >= 0xc0U && bytes.size() < 4;
  return begun && !all ? 0 : 1;
}

std::optional<Key> key_of(std::string_view bytes) {
  for (const KnownKey& known : kSequences) {
    if (known.bytes == bytes) return Key{known.kind};
  }
  if (bytes.size() == 1 && bytes.front() == kEscapeSign) return Key{Key::Kind::kEscape};
  const bool control = static_cast<unsigned char>(bytes.front()) < 0x20;
  if (control || utf8_size(bytes) != bytes.size()) return std::nullopt;  // not one of ours
  return Key{Key::Kind::kText, std::string(bytes)};
}

}  // namespace

std::vector<Key> keys_in(std::string& bytes, bool all) {
  std::vector<Key> keys;
  while (!bytes.empty()) {
    const std::size_t size = key_size(bytes, all);
    if (size == 0) break;
    if (auto key = key_of(std::string_view(bytes).substr(0, size))) keys.push_back(std::move(*key));
    bytes.erase(0, size);
  }
  return keys;
}

Keyboard::Keyboard(Output& out) : out_(out) {
  ::tcgetattr(STDIN_FILENO, &before_);
  enter();
}

Keyboard::~Keyboard() {
  leave();
}

void Keyboard::enter() {
  termios keys = before_;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  keys.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  keys.c_cc[VMIN] = 0;
  keys.c_cc[VTIME] = 0;
  keys.c_cc[VSUSP] = _POSIX_VDISABLE;  // a key: the screen must be given back first
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys);
  std::fputs("\x1b[?1049h\x1b[?25l", out_.options().out);
  std::fflush(out_.options().out);
}

void Keyboard::leave() {
  std::fputs("\x1b[?25h\x1b[?1049l", out_.options().out);
  std::fflush(out_.options().out);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

void Keyboard::suspend() {
  leave();
  ::kill(0, SIGTSTP);
  enter();
}

// False: nothing came.
bool Keyboard::read_some(int ms) {
  pollfd wanted{STDIN_FILENO, POLLIN, 0};
  if (::poll(&wanted, 1, ms) <= 0) return false;
  std::array<char, 1024> some{};
  const ssize_t count = ::read(STDIN_FILENO, some.data(), some.size());
  ended_ = count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN);
  if (count > 0) bytes_.append(some.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::vector<Key> Keyboard::wait(int ms) {
  constexpr int kSequenceMs = 25;  // the rest of a sequence is under way
  read_some(ms);
  std::vector<Key> keys = keys_in(bytes_, false);
  while (!bytes_.empty() && !ended_) {
    const bool more = read_some(kSequenceMs);
    for (Key& key : keys_in(bytes_, !more)) keys.push_back(std::move(key));
  }
  if (ended_) keys.push_back({Key::Kind::kEnd});
  return keys;
}

}  // namespace lockkeeper::cli
