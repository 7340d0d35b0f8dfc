#include "mcp/call.h"

#include <algorithm>
#include <array>

namespace lockkeeper::mcp {

int log_severity(const std::string& level) {
  static const std::array<std::string, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};
  const auto found = std::ranges::find(kLevels, level);
  return found == kLevels.end() ? -1 : static_cast<int>(found - kLevels.begin());
}

Call::Call(Client client, std::string method, Json params, std::shared_ptr<Outlet> outlet, Ask ask,
           Pool* pool)
    : client_(std::move(client)),
      method_(std::move(method)),
      params_(std::move(params)),
      outlet_(std::move(outlet)),
      ask_(std::move(ask)),
      pool_(pool) {}

void Call::progress(double done, std::optional<double> total, const std::string& message) {
  const auto token = meta().find("progressToken");
  if (token == meta().end() || !is_id(*token)) return;
  const std::lock_guard lock(mutex_);
  if (cancelled() || done <= progress_) return;
  progress_ = done;
  Json params{{"progressToken", *token}, {"progress", done}};
  if (total) params["total"] = *total;
  if (!message.empty() && client_.at_least("2025-03-26")) params["message"] = message;
  outlet_->send(notification("notifications/progress", std::move(params)));
}

void Call::log(const std::string& level, const std::string& logger, const Json& data) {
  if (!log_level_ || log_severity(level) < log_severity(*log_level_)) return;
  Json params{{"level", level}, {"data", data}};
  if (!logger.empty()) params["logger"] = logger;
  const std::lock_guard lock(mutex_);
  if (cancelled()) return;
  outlet_->send(notification("notifications/message", std::move(params)));
}

void Call::set_log_level(std::optional<std::string> level) {
  log_level_ = std::move(level);
}

std::optional<Json> Call::ask(const std::string& method, Json params) {
  if (!ask_ || cancelled() || !client_.can_be_asked(method, params)) return std::nullopt;
  const Pause pause(*this);
  return pause ? ask_(method, std::move(params), *this) : std::nullopt;
}

bool Call::begin_pause() {
  const std::lock_guard lock(mutex_);
  if (hurried_ || (pool_ != nullptr && !pool_->pause())) return false;
  ++pauses_;
  return true;
}

void Call::end_pause() {
  const std::lock_guard lock(mutex_);
  --pauses_;
  if (pool_ != nullptr) pool_->resume();
}

void Call::hurry() {
  {
    const std::lock_guard lock(mutex_);
    hurried_ = true;
    if (pauses_ == 0) return;
  }
  cancel();
}

void Call::cancel() {
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_.exchange(true, std::memory_order_acq_rel)) return;
    action = std::move(on_cancel_);
  }
  if (action) action();
}

void Call::on_cancel(std::function<void()> action) {
  {
    const std::lock_guard lock(mutex_);
    if (!cancelled()) {
      on_cancel_ = std::move(action);
      return;
    }
  }
  action();
}

}  // namespace lockkeeper::mcp
