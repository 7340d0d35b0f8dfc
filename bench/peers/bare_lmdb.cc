// The floor: LMDB itself doing the same hierarchical check and writing as many rows, with one file
// lock around each transaction and nothing else.
#include <fcntl.h>
#include <lmdb.h>
#include <unistd.h>

#include <cstring>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "bench/peers/peers.h"

namespace lockkeeper::bench {
namespace {

void check(int code) {
  LOCKKEEPER_ASSERT(code == MDB_SUCCESS);
}

class BareClient final : public Client {
 public:
  BareClient(const std::string& folder, unsigned flags) {
    gate_ = Fd(::open((folder + "/gate").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    check(mdb_env_create(&env_));
    check(mdb_env_set_mapsize(env_, std::size_t{1} << 32));
    check(mdb_env_open(env_, folder.c_str(), MDB_NOLOCK | MDB_NOTLS | flags, 0600));
    begin();
    check(mdb_dbi_open(txn_, nullptr, 0, &dbi_));
    commit();
    // Clients of one file must not write the same events.
    ticket_ = static_cast<std::uint64_t>(::getpid()) << 40;
    events_ = ticket_;
  }
  ~BareClient() override { mdb_env_close(env_); }
  BareClient(const BareClient&) = delete;
  BareClient& operator=(const BareClient&) = delete;

  void hold(int count) {
    begin();
    for (int i = 0; i < count; ++i) write_rows(held_path(i), id(), true);
    commit();
  }

  void pair(const std::string& path) override {
    const std::string lease = id();
    begin();
    LOCKKEEPER_ASSERT(is_free(path));
    write_rows(path, lease, true);
    commit();
    begin();
    LOCKKEEPER_ASSERT(get("l" + lease));
    write_rows(path, lease, false);
    commit();
  }

 private:
  void lock(short type) const {
    struct flock request{};
    request.l_type = type;
    request.l_whence = SEEK_SET;
    request.l_len = 1;
    LOCKKEEPER_ASSERT(::fcntl(gate_.get(), F_OFD_SETLKW, &request) == 0);
  }
  void begin() {
    lock(F_WRLCK);
    check(mdb_txn_begin(env_, nullptr, 0, &txn_));
  }
  void commit() {
    check(mdb_txn_commit(txn_));
    lock(F_UNLCK);
  }

  std::string id() {
    std::string bytes;
    append_be64(bytes, ++ticket_);
    append_be64(bytes, ticket_ * 0x9e3779b97f4a7c15U);
    return bytes;
  }

  static MDB_val val(const std::string& text) {
    return {text.size(), const_cast<char*>(text.data())};
  }
  bool get(const std::string& key) {
    MDB_val k = val(key);
    MDB_val v{};
    return mdb_get(txn_, dbi_, &k, &v) == MDB_SUCCESS;
  }
  static bool begins(MDB_cursor* cursor, const std::string& prefix) {
    MDB_val k = val(prefix);
    MDB_val v{};
    return mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE) == MDB_SUCCESS &&
           k.mv_size >= prefix.size() && std::memcmp(k.mv_data, prefix.data(), prefix.size()) == 0;
  }

  // Every ancestor, the path itself and all below it, in both modes.
  bool is_free(const std::string& path) {
    MDB_cursor* cursor = nullptr;
    check(mdb_cursor_open(txn_, dbi_, &cursor));
    bool taken = false;
    for (const std::string mode : {"x", "s"}) {
      for (std::size_t slash = path.find('/'); slash != std::string::npos;
           slash = path.find('/', slash + 1)) {
        taken |= begins(cursor, mode + path.substr(0, slash) + '\0');
      }
      taken |= begins(cursor, mode + path + '\0') || begins(cursor, mode + path + '/');
    }
    taken |= begins(cursor, "w");
    mdb_cursor_close(cursor);
    return !taken;
  }

  void put(const std::string& key, std::size_t bytes, bool add) {
    static const std::string filler(512, 'v');
    MDB_val k = val(key);
    MDB_val v{bytes, const_cast<char*>(filler.data())};
    check(add ? mdb_put(txn_, dbi_, &k, &v, 0) : mdb_del(txn_, dbi_, &k, nullptr));
  }
  // The sizes are those of our rows.
  void write_rows(const std::string& path, const std::string& lease, bool add) {
    put("l" + lease, 180, add);
    put("x" + path + '\0' + lease, 60, add);
    put("t" + lease, 8, add);
    std::string event = "e";
    append_be64(event, ++events_);
    put(event, 150, true);
  }

  Fd gate_;
  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
  MDB_dbi dbi_ = 0;
  std::uint64_t ticket_ = 0;
  std::uint64_t events_ = 0;
};

class BareLmdb final : public Peer {
 public:
  BareLmdb(const std::string& name, const std::string& durability, std::string folder,
           unsigned flags)
      : Peer(name, durability, "checksums, queue, history, fences, identity, dead holders"),
        folder_(std::move(folder)),
        flags_(flags) {}
  std::unique_ptr<Client> connect() override {
    return std::make_unique<BareClient>(folder_, flags_);
  }

 private:
  const std::string folder_;
  const unsigned flags_;
};

Made make(const Setup& setup, const std::string& name, const std::string& durability,
          unsigned flags) {
  const std::string folder = setup.fresh("bare-lmdb-" + std::to_string(flags));
  BareClient(folder, flags).hold(setup.held);
  return std::make_unique<BareLmdb>(name, durability, folder, flags);
}

}  // namespace

Made make_bare_lmdb(const Setup& setup, Kept kept) {
  return kept == Kept::kFull ? make(setup, kBareName, "full", 0)
                             : make(setup, kBareName, "process", MDB_NOSYNC);
}

Made make_bare_lmdb_map(const Setup& setup) {
  return make(setup, kBareMapName, "process", MDB_NOSYNC | MDB_WRITEMAP);
}

}  // namespace lockkeeper::bench
