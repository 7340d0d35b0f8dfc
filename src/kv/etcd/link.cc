#include "kv/etcd/link.h"

#include "kv/etcd/pump.h"

namespace lockkeeper::kv::etcd {

Link::Link(Endpoint endpoint, std::unique_ptr<Pump> pump)
    : endpoint_(std::move(endpoint)), pump_(std::move(pump)) {}

Link::~Link() = default;

Result<std::shared_ptr<Link>> Link::open(const Endpoint& endpoint,
                                         std::shared_ptr<const TlsFiles> files, Deadline until) {
  const std::string scheme = files == nullptr ? "http" : "https";
  LK_ASSIGN(Socket socket, Socket::open(endpoint, std::move(files), until));
  auto pump = std::make_unique<Pump>(std::move(socket), scheme, endpoint.name());
  LK_CHECK(pump->start());
  return std::shared_ptr<Link>(new Link(endpoint, std::move(pump)));
}

Answer Link::call(const std::string& path, const Metadata& metadata, std::string_view message,
                  Deadline until) {
  const auto call = std::make_shared<Call>(path, metadata, message);
  call->until = until;
  call->no_more = true;
  pump_->submit(call);
  return pump_->wait(*call);
}

std::uint64_t Link::open_stream(const std::string& path, const Metadata& metadata,
                                std::string_view message, Ears ears) {
  const auto call = std::make_shared<Call>(path, metadata, message);
  call->ears = std::move(ears);
  pump_->submit(call);
  return call->id;
}

void Link::say(std::uint64_t stream, std::string_view message) {
  pump_->say(stream, message);
}

void Link::end_stream(std::uint64_t stream) {
  pump_->cancel(stream);
}

bool Link::alive() const {
  return pump_->alive();
}

void Link::retire() {
  pump_->retire();
}

}  // namespace lockkeeper::kv::etcd
