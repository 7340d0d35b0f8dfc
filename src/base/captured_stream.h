// For tests alone: a stream that ends up in a string.
#pragma once

#include <stdio.h>

#include <cstdlib>
#include <string>

namespace lockkeeper {

class CapturedStream {
 public:
  CapturedStream() : stream_(::open_memstream(&text_, &size_)) {}
  ~CapturedStream() {
    std::fclose(stream_);
    std::free(text_);
  }
  CapturedStream(const CapturedStream&) = delete;
  CapturedStream& operator=(const CapturedStream&) = delete;

  std::FILE* get() const { return stream_; }
  std::string text() const {
    std::fflush(stream_);
    return {text_, size_};
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* stream_;
};

}  // namespace lockkeeper
