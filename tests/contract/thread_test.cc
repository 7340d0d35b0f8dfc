// Several threads on one store.
#include <atomic>
#include <thread>

#include "contract.h"

namespace lockkeeper::contract {

class ContractThreads : public Contract {
 protected:
  // A begin that another thread may make wait is no error; anything else is.
  std::unique_ptr<kv::Txn> begin(kv::Access access) {
    auto txn = store().begin(access);
    EXPECT_TRUE(txn.has_value());
    return txn ? std::move(*txn) : nullptr;
  }
};
INSTANTIATE_TEST_SUITE_P(All, ContractThreads, testing::ValuesIn(backends()), backend_name);

TEST_P(ContractThreads, I1NoUpdateIsLost) {
  constexpr int kThreads = 4;
  constexpr int kEach = 200;
  fill({{"n", "0"}});
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this] {
      for (int done = 0; done < kEach;) {
        auto txn = begin(kv::Access::kWrite);
        if (txn == nullptr) return;
        const auto row = txn->get("n");
        ASSERT_TRUE(row && *row);
        const int next = std::stoi(std::string((*row)->value)) + 1;
        ASSERT_TRUE(txn->put("n", std::to_string(next)));
        const auto result = txn->commit();
        ASSERT_TRUE(result);
        if (result->fate == kv::Fate::kCommitted) ++done;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(read().get("n"), std::to_string(kThreads * kEach));
}

TEST_P(ContractThreads, I2ReadersSeeACommitWholeAndOneStateThroughout) {
  fill({{"a", "0"}, {"m", "0"}, {"z", "0"}});
  std::atomic<bool> stop = false;
  std::vector<std::jthread> readers;
  std::atomic<int> seen = 0;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      while (!stop) {
        auto txn = begin(kv::Access::kRead);
        if (txn == nullptr) return;
        const auto a = txn->get("a");
        const auto z = txn->get("z");
        const auto m = txn->get("m");
        ASSERT_TRUE(a && z && m);
        EXPECT_EQ((*a)->value, (*z)->value);
        EXPECT_EQ((*a)->value, (*m)->value);
        EXPECT_EQ((*a)->modified, (*z)->modified);
        const auto again = txn->get("a", kv::Read::kPeek);
        ASSERT_TRUE(again);
        EXPECT_EQ((*a)->value, (*again)->value);
        ++seen;
      }
    });
  }
  for (int i = 1; i <= 300; ++i) {
    const std::string value = std::to_string(i) + std::string(static_cast<std::size_t>(i), 'x');
    fill({{"a", value}, {"m", value}, {"z", value}});
  }
  while (seen < 10) std::this_thread::yield();
  stop = true;
}

TEST_P(ContractThreads, L7NeitherReadersNorWritersStarve) {
  std::atomic<bool> stop = false;
  std::vector<std::jthread> busy;
  std::atomic<int> reads = 0;
  std::atomic<int> writes = 0;
  for (int t = 0; t < 3; ++t) {
    busy.emplace_back([&] {
      while (!stop) {
        auto txn = begin(kv::Access::kRead);
        if (txn == nullptr) return;
        EXPECT_TRUE(txn->get("a", kv::Read::kPeek));
        ++reads;
      }
    });
  }
  busy.emplace_back([&] {
    while (!stop) {
      fill({{"a", "v"}});
      ++writes;
    }
  });
  while (reads < 200 || writes < 100) std::this_thread::yield();
  stop = true;
}

TEST_P(ContractThreads, AppendsOfManyThreadsAreAllThereInVersionOrder) {
  constexpr int kThreads = 4;
  constexpr int kEach = 100;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < kEach; ++i) {
        Tx tx = write();
        tx.append("e/", std::to_string(t) + "." + std::to_string(1000 + i));
        tx.committed();
      }
    });
  }
  threads.clear();
  Pairs rows;
  Tx tx = read();
  ASSERT_TRUE(tx->scan_appended("e/", 0, [&](const kv::Appended& row) {
    rows.emplace_back(row.key, row.value);
    return true;
  }));
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(kThreads * kEach));
  std::vector<std::string> last(kThreads);
  for (const auto& [key, value] : rows) {
    std::string& before = last[static_cast<std::size_t>(value[0] - '0')];
    EXPECT_LT(before, value);
    before = value;
  }
}

}  // namespace lockkeeper::contract
