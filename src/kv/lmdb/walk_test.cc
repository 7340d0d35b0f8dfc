// Data files made by hand, in which one byte stands for many: entries that overlap, long values
// named again and again. What the walk gathers and reads stays in proportion to the file (F16).
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "kv/lmdb/damage_testing.h"
#include "kv/lmdb/page_view.h"
#include "kv/lmdb/walk.h"

namespace lockkeeper::kv {
namespace {

using internal::kBigNode;
using internal::kBranchPage;
using internal::kLeafPage;
using internal::kOverflowPage;
using internal::kPageHeaderBytes;
using internal::PageView;
using testing::DamageTest;
using testing::join;
using testing::must;
using testing::overwrite;
using testing::slurp;
using testing::spawn;

struct Gathered {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;   // of the rows that were kept
  std::uint64_t reads = 0;   // bytes read from the file
  std::uint64_t memory = 0;  // how much the process grew, in bytes
};

// The bytes of one.
class Image {
 public:
  Image(std::size_t page_bytes, std::size_t pages)
      : page_bytes_(page_bytes), bytes_(page_bytes * pages, '\0') {}

  template <class Integer>
  void set(std::size_t page, std::size_t offset, Integer value) {
    std::memcpy(bytes_.data() + page * page_bytes_ + offset, &value, sizeof value);
  }
  void set_text(std::size_t page, std::size_t offset, std::string_view text) {
    bytes_.replace(page * page_bytes_ + offset, text.size(), text);
  }

  // Two good metas, whose rows have their root in page 2; no free pages.
  void metas(std::uint16_t depth) {
    for (const std::size_t meta : {0U, 1U}) {
      set<std::uint64_t>(meta, 0, meta);
      set<std::uint16_t>(meta, 10, 0x08);
      set<std::uint32_t>(meta, 16, 0xBEEFC0DE);
      set<std::uint32_t>(meta, 20, 1);
      set(meta, 40, static_cast<std::uint32_t>(page_bytes_));
      set<std::uint64_t>(meta, 40 + 40, UINT64_MAX);
      set<std::uint16_t>(meta, 88 + 6, depth);
      set<std::uint64_t>(meta, 88 + 16, 1);
      set<std::uint64_t>(meta, 88 + 40, 2);
      set<std::uint64_t>(meta, 136, bytes_.size() / page_bytes_ - 1);
      set<std::uint64_t>(meta, 144, 1);
    }
  }

  void header(std::size_t page, std::uint16_t kind, std::size_t nodes, std::size_t upper) {
    set<std::uint64_t>(page, 0, page);
    set<std::uint16_t>(page, 10, kind);
    set(page, 12, static_cast<std::uint16_t>(kPageHeaderBytes + 2 * nodes));
    set(page, 14, static_cast<std::uint16_t>(upper));
  }

  void slot(std::size_t page, std::size_t index, std::size_t offset) {
    set(page, kPageHeaderBytes + 2 * index, static_cast<std::uint16_t>(offset));
  }

  void node(std::size_t page, std::size_t offset, std::uint64_t low, std::uint16_t flags,
            std::string_view key, std::string_view inside = {}) {
    set(page, offset, static_cast<std::uint32_t>(low));
    set(page, offset + 4, flags);
    set(page, offset + 6, static_cast<std::uint16_t>(key.size()));
    set_text(page, offset + 8, key);
    set_text(page, offset + 8 + key.size(), inside);
  }

  // A page of `nodes` slots that all name one entry, at its end.
  void same_entry(std::size_t page, std::uint16_t kind, std::size_t nodes, std::uint64_t low,
                  std::string_view key, std::string_view inside = {}) {
    const std::size_t offset = (page_bytes_ - 8 - key.size() - inside.size()) / 2 * 2;
    header(page, kind, nodes, offset);
    for (std::size_t i = 0; i < nodes; ++i) slot(page, i, offset);
    node(page, offset, low, 0, key, inside);
  }

  // A leaf full of long values: each key with the page and the length of its value.
  struct Long {
    std::string key;
    std::uint64_t first_page;
    std::size_t bytes;
  };
  void long_leaf(std::size_t page, const std::vector<Long>& values) {
    std::size_t offset = page_bytes_;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::string where(8, '\0');
      std::memcpy(where.data(), &values[i].first_page, 8);
      offset -= (16 + values[i].key.size() + 1) / 2 * 2;
      slot(page, i, offset);
      node(page, offset, values[i].bytes, kBigNode, values[i].key, where);
    }
    header(page, kLeafPage, values.size(), offset);
  }
  void overflow(std::size_t page, std::size_t count) {
    set<std::uint64_t>(page, 0, page);
    set<std::uint16_t>(page, 10, kOverflowPage);
    set(page, 12, static_cast<std::uint32_t>(count));
  }

  std::string& bytes() { return bytes_; }

 private:
  std::size_t page_bytes_;
  std::string bytes_;
};

std::string record_of(std::string_view key, std::string_view payload) {
  std::string record;
  internal::write_record(record, key, 1, 1, payload);
  return record;
}

// By this process; 0 where the kernel does not count.
std::uint64_t bytes_read() {
  const auto text = read_file("/proc/self/io", 4096);
  return text ? std::strtoull(text->c_str() + text->find(':') + 1, nullptr, 10) : 0;
}

std::uint64_t peak_bytes() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return static_cast<std::uint64_t>(use.ru_maxrss) * 1024;
}

class WalkTest : public DamageTest {
 protected:
  // What salvage makes of the image, in a child whose memory is its own.
  Gathered gather(Image& image) {
    const std::string path = place_.folder.file("image");
    const std::string told = place_.folder.file("told");
    overwrite(path, image.bytes());
    EXPECT_EQ(join(spawn([&] {
                const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
                Gathered got;
                const std::uint64_t reads = bytes_read();
                const std::uint64_t memory = peak_bytes();
                const auto count = internal::salvage(
                    fd.get(), path, [&](const internal::Salvaged& row) -> Result<void> {
                      ++got.rows;
                      got.bytes += row.key.size() + row.record.payload.size();
                      return {};
                    });
                got.reads = bytes_read() - reads;
                got.memory = peak_bytes() - memory;
                if (const auto facts = internal::read_facts(fd.get(), path)) {
                  if (internal::verify_file(fd.get(), path, *facts)) return 2;
                }
                overwrite(told, {reinterpret_cast<const char*>(&got), sizeof got});
                return count ? 0 : 1;
              })),
              0);
    Gathered got;
    const std::string bytes = slurp(told);
    EXPECT_EQ(bytes.size(), sizeof got);
    if (bytes.size() == sizeof got) std::memcpy(&got, bytes.data(), sizeof got);
    for (const auto& [name, value] : {std::pair{"rows", got.rows},
                                      {"bytes", got.bytes},
                                      {"reads", got.reads},
                                      {"memory", got.memory}}) {
      RecordProperty(name, std::to_string(value));
    }
    return got;
  }
};

// A key of 30,000 bytes, 8,000 times in a page: half a gigabyte for each level of the tree.
TEST_F(WalkTest, F16_ABranchWhoseEntriesOverlapTakesNoMemory) {
  Image image(65536, 5);
  image.metas(31);
  const std::string key(30'000, 'k');
  for (const std::size_t page : {2U, 3U}) image.same_entry(page, kBranchPage, 8'000, page + 1, key);
  EXPECT_LT(gather(image).memory, 64U << 20);
}

// The same with keys that LMDB could have.
TEST_F(WalkTest, F16_ABranchWhoseShortEntriesOverlapTakesNoMemory) {
  Image image(65536, 20);
  image.metas(31);
  const std::string key(400, 'k');
  for (std::size_t page = 2; page < 18; ++page) {
    image.same_entry(page, kBranchPage, 32'000, page + 1, key);
  }
  EXPECT_LT(gather(image).memory, 64U << 20);
}

// One good row that a page names a thousand times, in pages that no meta leads to.
TEST_F(WalkTest, F16_ALeafWhoseEntriesOverlapGivesNoMoreThanItHolds) {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  Image image(page_bytes, 40);
  const std::string record = record_of("key", std::string(page_bytes / 2, 'p'));
  for (std::size_t page = 2; page < 40; ++page) {
    image.same_entry(page, kLeafPage, page_bytes / 4 - 64, record.size(), "key", record);
  }
  const Gathered got = gather(image);
  EXPECT_GE(got.rows, 38U);
  EXPECT_LE(got.bytes, 2 * image.bytes().size());
}

// Ten leaves of a hundred entries, all with the same long value: in the tree, and cut off.
TEST_F(WalkTest, F16_ALongValueNamedByManyIsNotReadForEach) {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (const bool metas : {false, true}) {
    Image image(page_bytes, 300);
    if (metas) image.metas(1);
    image.overflow(40, 260);
    for (std::size_t page = 2; page < 12; ++page) {
      std::vector<Image::Long> values;
      for (int i = 0; i < 100; ++i) values.push_back({"k" + std::to_string(100 + i), 40, 1 << 20});
      image.long_leaf(page, values);
    }
    EXPECT_LE(gather(image).reads, 16 * image.bytes().size()) << metas;
  }
}

// Values each of which is the end of the one before, all with good checksums.
TEST_F(WalkTest, F16_LongValuesThatOverlapGiveNoMoreThanTheFileHolds) {
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  Image image(page_bytes, 300);
  std::vector<Image::Long> values;
  for (std::size_t page = 299; page >= 200; --page) {
    const std::string key = "k" + std::to_string(page);
    image.overflow(page, 300 - page);
    image.set<std::uint16_t>(page, kPageHeaderBytes + 8, 0x0001);  // created 1, modified 1
    const std::size_t start = page * page_bytes + kPageHeaderBytes;
    const std::string_view value = std::string_view(image.bytes()).substr(start);
    image.set(page, kPageHeaderBytes, hash64(key, value.substr(8)));
    values.push_back({key, page, value.size()});
  }
  image.long_leaf(2, values);
  const Gathered got = gather(image);
  EXPECT_GE(got.rows, 1U);
  EXPECT_LE(got.bytes, image.bytes().size());
}

// A row whose key LMDB would not take must not be what the whole repair fails on.
TEST_F(WalkTest, F16_I5_ARowWithAKeyTooLongDoesNotStopTheRepair) {
  make();
  std::string bytes = slurp(place_.file("data.mdb"));
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  Image page(page_bytes, bytes.size() / page_bytes + 1);
  const std::size_t last = bytes.size() / page_bytes;
  const std::string key(600, 'k');
  const std::string record = record_of(key, "payload");
  page.same_entry(last, kLeafPage, 1, record.size(), key, record);
  bytes.append(page.bytes().substr(last * page_bytes));
  bytes.replace(0, 2 * page_bytes, std::string(2 * page_bytes, '\0'));
  overwrite(place_.file("data.mdb"), bytes);
  EXPECT_GE(expect_repaired().kept_rows, 201U);
}

// A damaged length in one entry of a leaf must not cost the rows that it then covers.
TEST_F(WalkTest, F16_I5_AnEntryThatCoversOthersCostsOnlyItself) {
  make();
  std::string bytes = slurp(place_.file("data.mdb"));
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  bool hit = false;
  for (std::size_t page = 2; page < bytes.size() / page_bytes; ++page) {
    PageView view;
    if (!view.parse(std::string_view(bytes).substr(page * page_bytes, page_bytes), page, kLeafPage))
      continue;
    for (std::size_t i = 0; i < view.nodes(); ++i) {
      const auto node = view.node(i);
      if (!node || node->key != "row/77") continue;
      const auto key = static_cast<std::size_t>(node->key.data() - bytes.data());
      const std::size_t offset = key - 8;
      const std::size_t rest = (page + 1) * page_bytes - key - node->key.size();
      const auto length = static_cast<std::uint16_t>(rest);
      std::memcpy(bytes.data() + offset, &length, sizeof length);
      hit = true;
    }
  }
  ASSERT_TRUE(hit);
  overwrite(place_.file("data.mdb"), bytes);
  EXPECT_EQ(expect_repaired().kept_rows, 200U);
}

}  // namespace
}  // namespace lockkeeper::kv
