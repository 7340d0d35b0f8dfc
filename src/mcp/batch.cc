#include "mcp/batch.h"

namespace lockkeeper::mcp {

void BatchOutlet::send(const Json& message) {
  if (!message.contains("result") && !message.contains("error")) return outlet_->send(message);
  const std::lock_guard lock(mutex_);
  answers_.push_back(message);
}

void BatchOutlet::end() {
  Json answers;
  {
    const std::lock_guard lock(mutex_);
    if (--left_ > 0) return;
    answers.swap(answers_);
  }
  // All were cancelled: nothing is sent.
  if (!answers.empty()) outlet_->send(answers);
  outlet_->end();
}

}  // namespace lockkeeper::mcp
