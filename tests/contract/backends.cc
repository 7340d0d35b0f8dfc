#include "contract.h"
#include "kv/memory/memory_store.h"

namespace lockkeeper::contract {

namespace {

class OpenedMemory final : public Opened {
 public:
  explicit OpenedMemory(kv::Flavour flavour) : store_({.flavour = flavour}) {}
  kv::Store& store() override { return store_; }

 private:
  kv::MemoryStore store_;
};

Backend memory(std::string name, kv::Flavour flavour) {
  return {std::move(name), flavour == kv::Flavour::kOptimistic,
          [flavour] { return std::make_unique<OpenedMemory>(flavour); }};
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
