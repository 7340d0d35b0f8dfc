// One kept HTTP connection to this machine, as small as can be.
#pragma once

#include <string>

#include "base/fd.h"

namespace lockkeeper::bench {

class HttpLane {
 public:
  // Connects to a port of the loopback interface. `headers`: lines that go with every request.
  HttpLane(int port, std::string headers);

  int fd() const { return fd_.get(); }
  void send(const std::string& text) const;
  void start_post(const std::string& target, const std::string& body) const;
  // Reads once. True: the answer is whole, and was 200. Aborts on anything else.
  bool hear();
  // To its end; the answer's body.
  std::string post(const std::string& target, const std::string& body);

 private:
  const Fd fd_;
  const std::string headers_;
  std::string heard_;
  std::string body_;  // of the last answer
};

}  // namespace lockkeeper::bench
