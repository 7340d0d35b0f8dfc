#include "chaos/faults/trace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/fd.h"
#include "support/process.h"

namespace lockkeeper::faults {
namespace {

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

}  // namespace

std::vector<TraceRecord> read_trace(const std::string& path) {
  const std::string text = stage::read_text(path);
  std::vector<TraceRecord> records;
  for (std::size_t at = 0; at + sizeof(TraceHead) <= text.size();) {
    TraceHead head{};
    std::memcpy(&head, text.data() + at, sizeof head);
    at += sizeof head;
    records.push_back({head.kind, head.inode, head.offset, text.substr(at, head.size)});
    at += head.size;
  }
  return records;
}

void mark_trace(const std::string& path, const std::string& words) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(fd.get(), LOCK_EX), 0);
  const TraceHead head{TraceKind::kMark, 0, 0, 0, words.size()};
  std::string record(reinterpret_cast<const char*>(&head), sizeof head);
  record += words;
  ASSERT_EQ(::write(fd.get(), record.data(), record.size()), static_cast<ssize_t>(record.size()));
}

void Content::resize(std::uint64_t to) {
  size = to;
  if (bytes.size() > to) bytes.resize(to);
}

void Content::put(std::uint64_t offset, std::string_view what) {
  const std::uint64_t end = offset + what.size();
  if (bytes.size() < end) bytes.resize(end);
  bytes.replace(offset, what.size(), what);
  size = std::max(size, end);
}

void Disk::apply(const TraceRecord& record) {
  switch (record.kind) {
    case TraceKind::kMade:
      return add({"", record.bytes, record.inode});
    case TraceKind::kWrote:
      files_[record.inode].since.push_back({false, record.offset, record.bytes});
      return;
    case TraceKind::kResized:
      files_[record.inode].since.push_back({true, record.offset, ""});
      return;
    case TraceKind::kSynced:
      return sync(record);
    case TraceKind::kMovedFrom:
      moved_from_ = record.bytes;
      return;
    case TraceKind::kMovedTo:
      return add({moved_from_, record.bytes, now_[moved_from_]});
    case TraceKind::kRemoved:
      return add({record.bytes, "", 0});
    case TraceKind::kMark:
      return;
  }
}

void Disk::add(NameChange change) {
  rename(now_, change);
  const std::string& any = change.made.empty() ? change.removed : change.made;
  since_[folder_of(any)].push_back(std::move(change));
}

void Disk::rename(Names& names, const NameChange& change) {
  if (!change.removed.empty()) names.erase(change.removed);
  if (!change.made.empty()) names[change.made] = change.inode;
}

void Disk::sync(const TraceRecord& record) {
  if (const auto folder = since_.find(record.bytes); folder != since_.end()) {
    for (const NameChange& change : folder->second) rename(kept_, change);
    since_.erase(folder);
    return;
  }
  const auto found = files_.find(record.inode);
  if (found == files_.end()) return;
  for (const Change& one : found->second.since) {
    if (one.resize) {
      found->second.kept.resize(one.offset);
    } else {
      found->second.kept.put(one.offset, one.bytes);
    }
  }
  found->second.since.clear();
}

Content Disk::after_cut(const File& file, Random& random) {
  Content content = file.kept;
  const std::uint64_t luck = random_below(random, 5);  // of 4: what arrives
  for (const Change& one : file.since) {
    if (one.resize) {
      if (random_below(random, 4) < luck) content.resize(one.offset);
      continue;
    }
    for (std::size_t from = 0; from < one.bytes.size();) {
      const std::size_t whole = kSector - (one.offset + from) % kSector;
      const std::size_t to = std::min(one.bytes.size(), from + whole);
      if (random_below(random, 4) < luck) {
        content.put(one.offset + from, std::string_view(one.bytes).substr(from, to - from));
      }
      from = to;
    }
  }
  return content;
}

Disk::Image Disk::cut(Random& random) const {
  Names names = kept_;
  for (const auto& [folder, changes] : since_) {
    const std::uint64_t arrived = random_below(random, changes.size() + 1);
    for (std::uint64_t i = 0; i < arrived; ++i) rename(names, changes[i]);
  }
  Image image;
  for (const auto& [name, inode] : names) {
    const auto found = files_.find(inode);
    image[name] = found == files_.end() ? Content() : after_cut(found->second, random);
  }
  return image;
}

}  // namespace lockkeeper::faults
