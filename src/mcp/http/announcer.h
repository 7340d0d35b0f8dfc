// Tells the catalogue which clients arrive and leave, on a thread of the pool: one after the other,
// in the order in which it was noted. Otherwise a client that leaves and comes back at once could
// be taken for gone, and its locks with it.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "mcp/catalogue.h"
#include "mcp/pool.h"

namespace lockkeeper::mcp {

class Announcer : public std::enable_shared_from_this<Announcer> {
 public:
  enum class News { kArrived, kGone, kLeft };  // kLeft: it said so

  Announcer(const Catalogue& catalogue, Pool& pool) : catalogue_(catalogue), pool_(pool) {}

  // Never blocks. tell() must follow.
  void note(std::string visitor, News news);
  void tell();

 private:
  struct Noted {
    std::string visitor;
    News news = News::kArrived;
  };
  bool take(Noted& next);
  void tell_all();

  const Catalogue& catalogue_;
  Pool& pool_;
  std::mutex mutex_;  // protects all below
  std::deque<Noted> noted_;
  bool telling_ = false;
};

}  // namespace lockkeeper::mcp
