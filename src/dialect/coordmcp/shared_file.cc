#include "dialect/coordmcp/shared_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include "base/bytes.h"
#include "base/text.h"
#include "host/file_ops.h"

namespace lockkeeper::dialect::coordmcp {
namespace {

constexpr std::int64_t kLockWaitMs = 5'000;
constexpr int kReadTries = 6;  // of a half written file
constexpr int kReadPauseMs = 20;
constexpr int kMergesMax = 200;

// What a killed process of ours has left.
struct Note {
  bool pending = false;  // another's write must be merged, unless the exchange was done
  std::string base, theirs;
  std::string read;         // what the exchange must return
  std::uint64_t wrote = 0;  // hash of what we write
  int turn = 0;             // which of the two names has the new text
};

std::string encode(const Note& note) {
  RecordWriter out;
  out.number(note.pending ? 1 : 0);
  for (const std::string* text : {&note.base, &note.theirs, &note.read}) out.text(*text);
  out.number(note.wrote);
  out.number(static_cast<std::uint64_t>(note.turn));
  return out.take();
}

std::optional<Note> decode(std::string_view bytes) {
  RecordReader in(bytes);
  Note note;
  note.pending = in.number() != 0;
  for (std::string* text : {&note.base, &note.theirs, &note.read}) *text = in.text();
  note.wrote = in.number();
  note.turn = in.number() == 0 ? 0 : 1;
  if (!in.at_end()) return std::nullopt;
  return note;
}

constexpr const char* kNote = "note";
constexpr const char* kGone = "gone";
constexpr std::int64_t kBuriedForS = 24 * 3600;
constexpr std::size_t kGravesMax = 2'000;

std::string new_name(const SharedFile& file, int turn) {
  return file.beside("new" + std::to_string(turn));
}

// True: there were some.
template <class Graves>
bool drop_ghosts(LockFile& file, const Graves& graves) {
  if (graves.empty()) return false;
  std::set<std::pair<std::string_view, std::string_view>> buried;
  for (const auto& grave : graves) buried.emplace(grave.key, grave.identity);
  LockFile::Keys ghosts;
  for (const Entry& entry : file.entries()) {
    if (buried.contains({entry.key, entry.identity()})) ghosts.insert(entry.key);
  }
  file.erase_all(ghosts);
  return !ghosts.empty();
}

}  // namespace

Result<SharedFile::Content> SharedFile::load() {
  for (int tries = 1;; ++tries) {
    LK_ASSIGN(std::optional<std::string> bytes, folder_.read(name_, kFileBytesMax));
    if (!bytes) return Content{};
    auto file = LockFile::parse(*bytes, folder_.path_of(name_));
    if (file) return Content{std::move(*bytes), std::move(*file), true};
    if (tries == kReadTries) return fail(std::move(file.error()));
    std::this_thread::sleep_for(std::chrono::milliseconds(kReadPauseMs));
  }
}

Result<bool> SharedFile::repair() {
  LK_ASSIGN(const std::optional<FileStamp> left, folder_.stamp(beside(kNote)));
  if (!left) return false;
  LK_ASSIGN(const Fd turn, folder_.lock(beside("lock"), kLockWaitMs));
  LK_CHECK(recover());
  return true;
}

Result<std::uint64_t> SharedFile::hash() const {
  LK_ASSIGN(const std::optional<std::string> bytes, folder_.read(name_, kFileBytesMax));
  LK_ASSIGN(const std::optional<std::string> gone, folder_.read(beside(kGone), kFileBytesMax));
  return hash64(bytes.value_or(""), gone.value_or(""));
}

Result<std::optional<LockFile>> SharedFile::read() {
  LK_CHECK(repair());
  LK_ASSIGN(Content content, load());
  if (!content.there) return std::nullopt;
  LK_ASSIGN(const std::vector<Grave> gone, graves());
  if (!drop_ghosts(content.file, gone)) return std::move(content.file);
  LK_CHECK(update([](LockFile&) { return Verdict::kAsItIs; }));
  return std::move(content.file);
}

Result<SharedFile::Verdict> SharedFile::update(const Change& change, const Buried& buried) {
  LK_ASSIGN(const Fd turn, folder_.lock(beside("lock"), kLockWaitMs));
  LK_CHECK(recover());
  LK_ASSIGN(const std::vector<Grave> gone, bury(buried));
  const auto without_ghosts = [&](LockFile& file) {
    const bool any = drop_ghosts(file, gone);
    const Verdict verdict = change(file);
    return any && verdict == Verdict::kAsItIs ? Verdict::kWrite : verdict;
  };
  return update_locked(without_ghosts, std::nullopt);
}

Result<std::vector<SharedFile::Grave>> SharedFile::graves() const {
  std::vector<Grave> all;
  LK_ASSIGN(const std::optional<std::string> bytes, folder_.read(beside(kGone), kFileBytesMax));
  if (!bytes) return all;
  RecordReader in(*bytes);
  while (!in.at_end() && !in.failed()) {
    Grave grave;
    grave.at_s = in.signed_number();
    grave.identity = in.text();
    grave.key = in.text();
    if (!in.failed()) all.push_back(std::move(grave));
  }
  return all;
}

// The recorded removals, without entries that are wanted again; the change itself removes what goes
// now.
Result<std::vector<SharedFile::Grave>> SharedFile::bury(const Buried& buried) {
  const std::int64_t now_s = clock_.now().wall_ms / 1000;
  LK_ASSIGN(std::vector<Grave> before, graves());
  bool changed = !buried.in.empty();
  for (const auto& [key, identity] : buried.out) {
    changed |= std::erase_if(before, [&](const Grave& grave) {
                 return grave.identity == identity && grave.key == key;
               }) > 0;
  }
  std::vector<Grave> graves = before;
  for (const auto& [key, identity] : buried.in) graves.push_back({now_s, identity, key});
  if (!changed) return before;
  std::erase_if(graves, [&](const Grave& grave) { return now_s - grave.at_s > kBuriedForS; });
  if (graves.size() > kGravesMax) {
    graves.erase(graves.begin(), graves.end() - static_cast<std::ptrdiff_t>(kGravesMax));
  }
  RecordWriter out;
  for (const Grave& grave : graves) {
    out.signed_number(grave.at_s);
    out.text(grave.identity);
    out.text(grave.key);
  }
  LK_CHECK(put_whole(beside(kGone), out.take()));
  return before;
}

Result<SharedFile::Verdict> SharedFile::update_locked(const Change& change,
                                                      std::optional<Foreign> pending) {
  LK_ASSIGN(Content before, load());
  LockFile wanted = before.file;
  Verdict verdict = change(wanted);
  if (verdict != Verdict::kWrite) return verdict;
  for (int tries = 0; tries < kMergesMax; ++tries) {
    const std::string text = wanted.text(shape_, LocalTime::from_wall_ms(clock_.now().wall_ms));
    std::string displaced;
    LK_ASSIGN(const bool placed, replace(before, text, pending, displaced));
    if (!placed) {  // it appeared or disappeared meanwhile
      const LockFile base = std::move(before.file);
      LK_ASSIGN(before, load());
      wanted.merge(base, before.file);
      verdict = change(wanted);
      continue;
    }
    if (displaced == before.bytes) {
      LK_CHECK(clear());
      return verdict;
    }
    auto theirs = LockFile::parse(displaced, folder_.path_of(name_));
    if (!theirs) {
      LK_CHECK(put_back(text));
      return fail(std::move(theirs.error()));
    }
    LockFile merged = wanted;
    merged.merge(before.file, *theirs);
    verdict = change(merged);
    if (leased_) {
      LK_ASSIGN(const bool stands,
                rewrite(merged.text(shape_, LocalTime::from_wall_ms(clock_.now().wall_ms))));
      LK_CHECK(clear());
      if (stands) return verdict;
      // Replaced again by a process that has not seen ours: start over.
      LK_ASSIGN(before, load());
      wanted = before.file;
      verdict = change(wanted);
      if (verdict != Verdict::kWrite) return verdict;
      pending.reset();
      continue;
    }
    pending = Foreign{std::move(before.bytes), std::move(displaced)};
    before = Content{text, std::move(wanted), true};
    wanted = std::move(merged);
    turn_ = 1 - turn_;
  }
  return fail(Code::kStoreBusy,
              quote(folder_.path_of(name_)) + " was written by others " +
                  std::to_string(kMergesMax) + " times while it was being changed",
              "try again");
}

// False: the file's existence is not as in `before`; nothing was done.
Result<bool> SharedFile::replace(const Content& before, const std::string& text,
                                 const std::optional<Foreign>& pending, std::string& displaced) {
  const std::string fresh = new_name(*this, turn_);
  LK_CHECK(folder_.remove_all(fresh));
  LK_ASSIGN(fresh_, folder_.create_file(fresh, text));
  leased_ = use_leases_ && host::take_lease(fresh_.get());
  if (!before.there) {
    displaced.clear();
    return host::rename_new(folder_, fresh, name_);
  }
  Note note;
  note.pending = pending.has_value();
  if (pending) note.base = pending->base;
  if (pending) note.theirs = pending->theirs;
  note.read = before.bytes;
  note.wrote = hash64(text);
  note.turn = turn_;
  LK_CHECK(put_whole(beside(kNote), encode(note)));
  if (auto done = host::exchange(folder_, fresh, name_); !done) {
    LK_ASSIGN(const std::optional<FileStamp> there, folder_.stamp(name_));
    if (there) return fail(std::move(done.error()));
    return false;
  }
  LK_ASSIGN(std::optional<std::string> out, folder_.read(fresh, kFileBytesMax));
  displaced = out ? std::move(*out) : std::string();
  return true;
}

// Writes into the leased file, which nobody else has open. False: another file has replaced it.
Result<bool> SharedFile::rewrite(const std::string& text) {
  const auto failed = [&] {
    return fail(errno_error(errno, "cannot write " + quote(folder_.path_of(name_))));
  };
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t put =
        ::pwrite(fresh_.get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (put < 0 && errno != EINTR) return failed();
    if (put > 0) done += static_cast<std::size_t>(put);
  }
  if (::ftruncate(fresh_.get(), static_cast<off_t>(text.size())) != 0) return failed();
  return folder_.is_named(name_, fresh_.get());
}

// Writes a file of ours atomically.
Result<void> SharedFile::put_whole(const std::string& name, const std::string& bytes) {
  const std::string half = beside("half");
  LK_CHECK(folder_.remove_all(half));
  LK_CHECK(host::write_new(folder_, half, bytes));
  LK_ASSIGN(const bool first, host::rename_new(folder_, half, name));
  if (first) return {};
  LK_CHECK(host::exchange(folder_, half, name));
  return folder_.remove_all(half);
}

// The exchange returned a file that cannot be parsed: it is put back for a person to fix.
Result<void> SharedFile::put_back(const std::string& ours) {
  const std::string fresh = new_name(*this, turn_);
  LK_CHECK(host::exchange(folder_, fresh, name_));
  fresh_.reset();  // otherwise our own lease would block us
  LK_ASSIGN(const std::optional<std::string> out, folder_.read(fresh, kFileBytesMax));
  if (out && *out != ours) LK_CHECK(host::exchange(folder_, fresh, name_));  // a newer one
  return clear();
}

Result<void> SharedFile::clear() {
  fresh_.reset();  // and with it the lease
  leased_ = false;
  // The note first: without it the other files mean nothing.
  LK_CHECK(folder_.remove_all(beside(kNote)));
  for (const int turn : {0, 1}) LK_CHECK(folder_.remove_all(new_name(*this, turn)));
  return {};
}

Result<void> SharedFile::recover() {
  LK_ASSIGN(const std::optional<std::string> bytes, folder_.read(beside(kNote), 4 * kFileBytesMax));
  if (!bytes) return {};
  const std::optional<Note> note = decode(*bytes);
  if (!note) return clear();  // not ours, or of another version
  LK_ASSIGN(const std::optional<std::string> out,
            folder_.read(new_name(*this, note->turn), kFileBytesMax));
  std::optional<Foreign> lost;
  const bool exchanged = out && hash64(*out) != note->wrote;
  if (exchanged && *out != note->read) lost = Foreign{note->read, *out};
  if (!exchanged && note->pending) lost = Foreign{note->base, note->theirs};
  if (!lost) return clear();
  const auto base = LockFile::parse(lost->base, folder_.path_of(name_));
  const auto theirs = LockFile::parse(lost->theirs, folder_.path_of(name_));
  if (!base || !theirs) {  // it was unreadable before, too; it is kept
    LK_CHECK(host::rename_new(folder_, new_name(*this, note->turn), beside("displaced")));
    return clear();
  }
  turn_ = 1 - note->turn;
  LK_CHECK(update_locked(
      [&](LockFile& file) {
        file.merge(*base, *theirs);
        return Verdict::kWrite;
      },
      lost));
  return clear();
}

}  // namespace lockkeeper::dialect::coordmcp
