#include "contract.h"
#include "kv/memory/memory_store.h"

namespace lockkeeper::contract {

namespace {

class OpenedMemory final : public Opened {
 public:
  OpenedMemory(kv::Flavour flavour, kv::Version start)
      : store_({.flavour = flavour, .start_version = start}) {}
  kv::Store& store() override { return store_; }

 private:
  kv::MemoryStore store_;
};

Backend memory(std::string name, kv::Flavour flavour) {
  return {.name = std::move(name),
          .optimistic = flavour == kv::Flavour::kOptimistic,
          .open_at = [flavour](kv::Version start) {
            return std::make_unique<OpenedMemory>(flavour, start);
          }};
}

}  // namespace

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = [] {
    std::vector<Backend> made;
    made.push_back(memory("memory_pessimistic", kv::Flavour::kPessimistic));
    made.push_back(memory("memory_optimistic", kv::Flavour::kOptimistic));
    return made;
  }();
  return all;
}

}  // namespace lockkeeper::contract
