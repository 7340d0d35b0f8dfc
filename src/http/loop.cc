#include "http/loop.h"

namespace lockkeeper::http {

void Loop::serve() {
  std::function<void()> work;
  {
    const std::lock_guard alone(serving);
    context.restart();
    context.run();
    work.swap(next);
  }
  if (work) {
    work();
  } else {
    closed.release();
  }
}

bool Loop::do_here(std::function<void()>& work) {
  if (next || !options.relieve) return false;
  if (!options.relieve([self = shared_from_this()] { self->serve(); })) return false;
  next = std::move(work);
  context.stop();  // this thread's turn
  return true;
}

}  // namespace lockkeeper::http
