#include "kv/etcd/pump.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/parse.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::size_t kFrameHeadBytes = 5;  // gRPC: compressed or not, and the length
constexpr std::int32_t kWindowBytes = 4 << 20;
constexpr std::size_t kWordsMax = 1000;
constexpr std::size_t kSendBytes = 64 << 10;  // at a time

std::string framed(std::string_view message) {
  std::string bytes(1, '\0');
  append_be32(bytes, static_cast<std::uint32_t>(message.size()));
  return bytes.append(message);
}

std::string_view view(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

nghttp2_nv header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// gRPC writes what is not plain ASCII as %XX. What a terminal could take for an order is left out.
std::string decoded_words(std::string_view text) {
  std::string words;
  for (std::size_t i = 0; i < text.size() && words.size() < kWordsMax; ++i) {
    char c = text[i];
    if (c == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      c = static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    }
    words.push_back(c >= ' ' && c <= '~' ? c : '?');
  }
  return words;
}

// The deadline as gRPC writes it; never nothing, which would be no deadline.
std::string timeout_text(Deadline until) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return std::to_string(std::clamp<std::int64_t>(left.count(), 1, 99'999'999)) + "m";
}

}  // namespace

Call::Call(std::string to, Metadata with, std::string_view message)
    : path(std::move(to)), metadata(std::move(with)), to_say(framed(message)) {}

// What nghttp2 calls, on the pump's thread.
struct PumpCallbacks {
  static Call* call_of(nghttp2_session* session, std::int32_t stream) {
    return static_cast<Call*>(nghttp2_session_get_stream_user_data(session, stream));
  }

  static int on_header(nghttp2_session* session, const nghttp2_frame* frame,
                       const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                       std::size_t value_size, std::uint8_t, void*) {
    Call* const call = call_of(session, frame->hd.stream_id);
    if (call == nullptr) return 0;
    const std::string_view key = view(name, name_size);
    if (key == ":status") call->http_status = view(value, value_size);
    if (key == "grpc-status") call->status_text = view(value, value_size);
    if (key == "grpc-message") call->answer.words = decoded_words(view(value, value_size));
    return 0;
  }

  static int on_data(nghttp2_session* session, std::uint8_t, std::int32_t stream,
                     const std::uint8_t* bytes, std::size_t size, void* pump) {
    Call* const call = call_of(session, stream);
    if (call != nullptr) static_cast<Pump*>(pump)->hear(*call, view(bytes, size));
    return 0;
  }

  static int on_close(nghttp2_session* session, std::int32_t stream, std::uint32_t error,
                      void* pump) {
    Call* const call = call_of(session, stream);
    if (call == nullptr) return 0;
    const bool answered =
        !call->status_text.empty() || (!call->http_status.empty() && call->http_status != "200");
    static_cast<Pump*>(pump)->finish(*call, error == NGHTTP2_REFUSED_STREAM ? Answer::End::kNotSent
                                            : answered                      ? Answer::End::kAnswered
                                                                            : Answer::End::kLost);
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* pump) {
    if (frame->hd.type != NGHTTP2_GOAWAY) return 0;
    Pump& self = *static_cast<Pump*>(pump);
    const std::lock_guard lock(self.mutex_);
    self.alive_ = false;
    return 0;
  }

  static ssize_t read(nghttp2_session* session, std::int32_t stream, std::uint8_t* buffer,
                      std::size_t size, std::uint32_t* flags, nghttp2_data_source*, void* pump) {
    Call* const call = call_of(session, stream);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const std::lock_guard lock(static_cast<Pump*>(pump)->mutex_);
    const std::size_t n = std::min(size, call->to_say.size());
    std::memcpy(buffer, call->to_say.data(), n);
    call->to_say.erase(0, n);
    if (call->to_say.empty() && call->no_more) *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (n == 0 && !call->no_more) return NGHTTP2_ERR_DEFERRED;
    return static_cast<ssize_t>(n);
  }
};

Pump::Pump(Socket socket, std::string scheme, std::string authority)
    : socket_(std::move(socket)), scheme_(std::move(scheme)), authority_(std::move(authority)) {}

Pump::~Pump() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    alive_ = false;
  }
  if (thread_.joinable()) {
    wake();
    thread_.join();
  }
  if (session_ != nullptr) nghttp2_session_del(session_);
}

Result<void> Pump::start() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return fail(errno_error(errno, "a pipe"));
  wake_read_ = Fd(ends[0]);
  wake_write_ = Fd(ends[1]);
  if (!make_quiet(ends[0]) || !make_quiet(ends[1])) return fail(errno_error(errno, "a pipe"));

  nghttp2_session_callbacks* callbacks = nullptr;
  LOCKKEEPER_ASSERT(nghttp2_session_callbacks_new(&callbacks) == 0);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, PumpCallbacks::on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, PumpCallbacks::on_data);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, PumpCallbacks::on_close);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, PumpCallbacks::on_frame);
  const int made = nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  LOCKKEEPER_ASSERT(made == 0);
  constexpr std::array<nghttp2_settings_entry, 3> kSettings = {{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindowBytes},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, 64U << 10},
  }};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, kSettings.data(), kSettings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, 4 * kWindowBytes);
  thread_ = std::thread([this] { run(); });
  return {};
}

void Pump::wake() {
  const char byte = 0;
  // A full pipe wakes as well.
  static_cast<void>(!::write(wake_write_.get(), &byte, 1));
}

void Pump::submit(const std::shared_ptr<Call>& call) {
  bool ended = false;
  {
    const std::lock_guard lock(mutex_);
    call->id = ++last_id_;
    ended = !alive_;
    if (ended) {
      call->done = true;
    } else {
      calls_[call->id] = call;
      new_.push_back(call);
    }
  }
  if (!ended) {
    wake();
  } else if (call->ears.ended) {
    call->ears.ended(call->answer);
  }
}

Answer Pump::wait(Call& call) {
  std::unique_lock lock(mutex_);
  if (call.done_now.wait_until(lock, *call.until, [&] { return call.done; })) {
    return std::move(call.answer);
  }
  const bool sent =
      std::ranges::none_of(new_, [&](const auto& each) { return each.get() == &call; });
  lock.unlock();
  cancel(call.id);
  Answer late;
  late.end = sent ? Answer::End::kLate : Answer::End::kNotSent;
  late.status = Grpc::kDeadlineExceeded;
  late.words = "no answer in time";
  return late;
}

void Pump::say(std::uint64_t id, std::string_view message) {
  {
    const std::lock_guard lock(mutex_);
    const auto call = calls_.find(id);
    if (call == calls_.end()) return;
    call->second->to_say += framed(message);
    resumed_.push_back(id);
  }
  wake();
}

void Pump::cancel(std::uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(new_, [&](const auto& call) { return call->id == id; });
    cancelled_.push_back(id);
  }
  wake();
}

bool Pump::alive() const {
  const std::lock_guard lock(mutex_);
  return alive_;
}

void Pump::retire() {
  {
    const std::lock_guard lock(mutex_);
    alive_ = false;
    for (const auto& [id, call] : calls_) {
      if (!call->until) cancelled_.push_back(id);
    }
  }
  wake();
}

void Pump::run() {
  while (turn()) {
  }
  end_all();
}

bool Pump::turn() {
  take_orders();
  if (!send()) return false;
  std::array<pollfd, 2> waiting{{{socket_.fd(), POLLIN, 0}, {wake_read_.get(), POLLIN, 0}}};
  if (socket_.wants_to_send()) waiting[0].events = POLLIN | POLLOUT;
  if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return false;
  if (waiting[1].revents != 0) {
    std::array<char, 64> bytes{};
    while (::read(wake_read_.get(), bytes.data(), bytes.size()) > 0) {
    }
  }
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
  }
  if (waiting[0].revents != 0 && !receive()) return false;
  return nghttp2_session_want_read(session_) != 0 || nghttp2_session_want_write(session_) != 0;
}

void Pump::take_orders() {
  std::vector<std::shared_ptr<Call>> begun;
  std::vector<std::uint64_t> resumed, cancelled;
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    begun.swap(new_);
    resumed.swap(resumed_);
    cancelled.swap(cancelled_);
    for (const std::uint64_t id : resumed) {
      if (const auto at = calls_.find(id); at != calls_.end()) calls.insert(*at);
    }
    for (const std::uint64_t id : cancelled) {
      if (const auto at = calls_.find(id); at != calls_.end()) calls.insert(*at);
    }
  }
  for (const auto& call : begun) {
    if (!begin(*call)) finish(*call, Answer::End::kNotSent);
  }
  for (const std::uint64_t id : resumed) {
    const auto at = calls.find(id);
    if (at != calls.end()) nghttp2_session_resume_data(session_, at->second->stream);
  }
  for (const std::uint64_t id : cancelled) {
    const auto at = calls.find(id);
    if (at == calls.end()) continue;
    Call& call = *at->second;
    if (call.stream > 0) {
      nghttp2_session_set_stream_user_data(session_, call.stream, nullptr);
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.stream, NGHTTP2_CANCEL);
    }
    finish(call, Answer::End::kLost);
  }
}

bool Pump::begin(Call& call) {
  const std::string timeout = call.until ? timeout_text(*call.until) : "";
  std::vector<nghttp2_nv> headers = {
      header(":method", "POST"),         header(":scheme", scheme_),
      header(":path", call.path),        header(":authority", authority_),
      header("te", "trailers"),          header("content-type", "application/grpc"),
      header("user-agent", "lockkeeper")};
  if (!timeout.empty()) headers.push_back(header("grpc-timeout", timeout));
  for (const auto& [name, value] : call.metadata) headers.push_back(header(name, value));
  nghttp2_data_provider body{};
  body.read_callback = PumpCallbacks::read;
  call.stream =
      nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &body, &call);
  return call.stream > 0;
}

// Frames that are ready together go out together: a call's headers and its message are one piece,
// which wakes the server once.
bool Pump::send() {
  while (true) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &bytes);
    if (size < 0) return false;
    if (size == 0) return socket_.flush().has_value();
    if (!socket_.put(view(bytes, static_cast<std::size_t>(size)))) return false;
    if (socket_.unsent() >= kSendBytes && !socket_.flush()) return false;
  }
}

bool Pump::receive() {
  const auto bytes = socket_.read();
  if (!bytes) return false;
  if (bytes->empty()) return true;
  const auto* const data = reinterpret_cast<const std::uint8_t*>(bytes->data());
  return nghttp2_session_mem_recv(session_, data, bytes->size()) >= 0;
}

void Pump::hear(Call& call, std::string_view bytes) {
  if (call.too_long) return;
  call.heard.append(bytes);
  while (call.heard.size() >= kFrameHeadBytes) {
    const std::size_t size = read_be32(std::string_view(call.heard).substr(1));
    // We never ask for compression, and nobody needs a longer answer.
    call.too_long = call.heard[0] != 0 || size > kMessageBytesMax;
    if (call.too_long) {
      call.heard.clear();
      nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, call.stream, NGHTTP2_CANCEL);
      return;
    }
    if (call.heard.size() < kFrameHeadBytes + size || !call.ears.hear) return;
    call.ears.hear(std::string_view(call.heard).substr(kFrameHeadBytes, size));
    call.heard.erase(0, kFrameHeadBytes + size);
  }
}

void Pump::finish(Call& call, Answer::End end) {
  std::shared_ptr<Call> kept;
  {
    const std::lock_guard lock(mutex_);
    const auto at = calls_.find(call.id);
    if (at == calls_.end()) return;
    kept = std::move(at->second);
    calls_.erase(at);
    fill(*kept, end);
    kept->done = true;
  }
  kept->done_now.notify_all();
  if (kept->ears.ended) kept->ears.ended(kept->answer);  // unlocked: it may open another stream
}

// What the server said, or that it said nothing.
void Pump::fill(Call& call, Answer::End end) {
  Answer& answer = call.answer;
  answer.end = end;
  if (call.too_long) {
    answer = {
        Answer::End::kAnswered, Grpc::kResourceExhausted, "the answer is larger than max", {}};
  }
  if (answer.end != Answer::End::kAnswered || call.too_long) return;
  const auto status = number_in<int>(call.status_text);
  answer.status = status ? static_cast<Grpc>(*status) : Grpc::kUnknown;
  if (!status) answer.words = "HTTP status " + decoded_words(call.http_status);
  if (answer.status != Grpc::kOk || call.ears.hear) return;
  const bool whole =
      call.heard.size() >= kFrameHeadBytes &&
      call.heard.size() - kFrameHeadBytes == read_be32(std::string_view(call.heard).substr(1));
  if (whole) {
    answer.body = call.heard.substr(kFrameHeadBytes);
  } else {
    answer.end = Answer::End::kLost;
  }
}

void Pump::end_all() {
  std::vector<std::shared_ptr<Call>> calls, unsent;
  {
    const std::lock_guard lock(mutex_);
    alive_ = false;
    unsent.swap(new_);
    for (const auto& [id, call] : calls_) calls.push_back(call);
  }
  for (const auto& call : unsent) finish(*call, Answer::End::kNotSent);
  for (const auto& call : calls) finish(*call, Answer::End::kLost);
}

}  // namespace lockkeeper::kv::etcd
