#include "rig/disk/memory_disk.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "rig/disk/memory_file.h"
#include "rig/disk/memory_locks.h"

namespace sluice {
namespace {

using SharedMemory = std::vector<std::unique_ptr<std::string>>;

// A file without its name. Shared pointers own it, because a deleted file lives until it is closed,
// and connections that a crash has killed still point into their shared memory.
struct Inode {
  MemoryFile bytes;
  MemoryLocks locks;
  std::shared_ptr<SharedMemory> shared_memory;
  bool name_is_durable = false;
};

using Folder = std::map<std::string, std::shared_ptr<Inode>>;

enum class Operation { kCreate, kDelete, kWrite, kTruncate, kSync };

int FailureOf(Operation operation) {
  switch (operation) {
    case Operation::kCreate: return SQLITE_CANTOPEN;
    case Operation::kDelete: return SQLITE_IOERR_DELETE;
    case Operation::kWrite: return SQLITE_IOERR_WRITE;
    case Operation::kTruncate: return SQLITE_IOERR_TRUNCATE;
    case Operation::kSync: return SQLITE_IOERR_FSYNC;
  }
  return SQLITE_IOERR;
}

}  // namespace

// The disk, and the functions that SQLite calls.
class MemoryDisk::State {
 public:
  explicit State(const Options& options);
  ~State();

  std::string name;
  bool lies_about_sync;
  int page_bytes;
  Random random;
  Folder live, durable;
  std::uint64_t operations = 0;
  std::uint64_t die_at = kUnlimited;
  bool dead = false;
  std::set<std::uint64_t> fail_at;
  std::uint64_t reads = 0;
  std::uint64_t fail_read_at = kUnlimited;
  FaultRates rates;
  std::uint64_t capacity = kUnlimited;

  void Crash(Unsynced unsynced);
  std::uint64_t UsedBytes() const;

 private:
  struct OpenFile;
  struct Handle;  // a file as SQLite sees it, in memory that SQLite allocates

  // Counts the operation. Returns SQLITE_OK, or the error with which the operation must fail. An
  // operation that fails must do nothing (a write may do a part of its work).
  int Begin(Operation operation);
  void SyncFolder();
  void SyncNameOf(const std::shared_ptr<Inode>& inode);
  void LosePower(bool drawn);

  int Open(const char* path, Handle* handle, int flags, int* out_flags);
  int Delete(const char* path, bool sync_folder);
  static const sqlite3_io_methods* Methods();
  static State& Of(sqlite3_vfs* vfs) { return *static_cast<State*>(vfs->pAppData); }

  sqlite3_vfs vfs_{};
  int last_errno_ = 0;
  std::vector<OpenFile*> open_;
};

// A file that a connection has open.
struct MemoryDisk::State::OpenFile {
  State* disk = nullptr;
  std::shared_ptr<Inode> inode{};
  std::string delete_on_close{};  // the path to delete; empty: none
  bool read_only = false;
  bool syncs_folder = false;  // its next sync also syncs the folder
  bool killed = false;        // by a crash
  MemoryLocks::Holder holder{};
  std::shared_ptr<SharedMemory> shared_memory{};

  bool useless() const { return killed || disk->dead; }
  void Kill();

  int Close();
  int Read(void* bytes, int count, sqlite3_int64 offset) const;
  int Write(const void* bytes, int count, sqlite3_int64 offset);
  int Truncate(sqlite3_int64 size);
  int Sync();
  int Size(sqlite3_int64* size) const;
  int Lock(int level);
  int Unlock(int level);
  int CheckReserved(int* reserved) const;
  int MapShared(int region, int region_bytes, bool extend, void volatile** memory);
  int LockShared(int first, int count, int flags);
  int UnmapShared();
};

struct MemoryDisk::State::Handle {
  sqlite3_file base;
  OpenFile* file;

  static OpenFile& Of(sqlite3_file* file) { return *reinterpret_cast<Handle*>(file)->file; }
};

void MemoryDisk::State::OpenFile::Kill() {
  killed = true;
  inode->locks.Remove(&holder);
  inode->shared_memory.reset();
}

int MemoryDisk::State::OpenFile::Close() {
  UnmapShared();
  if (!killed) inode->locks.Remove(&holder);
  if (!useless() && !delete_on_close.empty()) disk->live.erase(delete_on_close);
  std::erase(disk->open_, this);
  delete this;
  return SQLITE_OK;
}

int MemoryDisk::State::OpenFile::Read(void* bytes, int count, sqlite3_int64 offset) const {
  if (useless()) return SQLITE_IOERR_READ;
  if (disk->reads++ == disk->fail_read_at) {
    disk->last_errno_ = EIO;
    return SQLITE_IOERR_READ;
  }
  const bool whole =
      inode->bytes.Read(static_cast<std::uint64_t>(offset), static_cast<char*>(bytes),
                        static_cast<std::uint64_t>(count));
  return whole ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

int MemoryDisk::State::OpenFile::Write(const void* bytes, int count, sqlite3_int64 offset) {
  if (useless()) return SQLITE_IOERR_WRITE;
  std::string_view text(static_cast<const char*>(bytes), static_cast<std::size_t>(count));
  const auto begin = static_cast<std::uint64_t>(offset);
  int code = disk->Begin(Operation::kWrite);
  if (code == SQLITE_OK && disk->capacity != kUnlimited) {
    const std::uint64_t used = disk->UsedBytes();
    const std::uint64_t room = used < disk->capacity ? disk->capacity - used : 0;
    const std::uint64_t fits = inode->bytes.size() + room;
    if (begin + text.size() > fits && begin + text.size() > inode->bytes.size()) {
      text = text.substr(0, begin < fits ? fits - begin : 0);
      disk->last_errno_ = ENOSPC;
      code = SQLITE_FULL;
    }
  } else if (code != SQLITE_OK && !disk->dead) {
    text = text.substr(0, disk->random.Below(text.size() + 1));
  }
  if (!disk->dead) inode->bytes.Write(begin, text);
  return code;
}

int MemoryDisk::State::OpenFile::Truncate(sqlite3_int64 size) {
  if (useless()) return SQLITE_IOERR_TRUNCATE;
  const int code = disk->Begin(Operation::kTruncate);
  if (code == SQLITE_OK) inode->bytes.Truncate(static_cast<std::uint64_t>(size));
  return code;
}

int MemoryDisk::State::OpenFile::Sync() {
  if (useless()) return SQLITE_IOERR_FSYNC;
  const int code = disk->Begin(Operation::kSync);
  if (code != SQLITE_OK || disk->lies_about_sync) return code;
  inode->bytes.Sync();
  if (std::exchange(syncs_folder, false)) disk->SyncFolder();
  if (!inode->name_is_durable) disk->SyncNameOf(inode);
  return SQLITE_OK;
}

int MemoryDisk::State::OpenFile::Size(sqlite3_int64* size) const {
  if (useless()) return SQLITE_IOERR_FSTAT;
  *size = static_cast<sqlite3_int64>(inode->bytes.size());
  return SQLITE_OK;
}

int MemoryDisk::State::OpenFile::Lock(int level) {
  // Only a connection that may write may lock others out, as with the machine's own files.
  if (useless() || (read_only && level > SQLITE_LOCK_SHARED)) return SQLITE_IOERR_LOCK;
  return inode->locks.Raise(holder, static_cast<MemoryLocks::Level>(level)) ? SQLITE_OK
                                                                            : SQLITE_BUSY;
}

int MemoryDisk::State::OpenFile::Unlock(int level) {
  inode->locks.Lower(holder, static_cast<MemoryLocks::Level>(level));
  return SQLITE_OK;
}

int MemoryDisk::State::OpenFile::CheckReserved(int* reserved) const {
  if (useless()) return SQLITE_IOERR_CHECKRESERVEDLOCK;
  *reserved = inode->locks.AnyAtLeast(MemoryLocks::Level::kReserved) ? 1 : 0;
  return SQLITE_OK;
}

int MemoryDisk::State::OpenFile::MapShared(int region, int region_bytes, bool extend,
                                           void volatile** memory) {
  *memory = nullptr;
  if (useless()) return SQLITE_IOERR_SHMOPEN;
  if (!inode->shared_memory) inode->shared_memory = std::make_shared<SharedMemory>();
  shared_memory = inode->shared_memory;
  const auto index = static_cast<std::size_t>(region);
  const auto size = static_cast<std::size_t>(region_bytes);
  while (shared_memory->size() <= index) {
    if (!extend) return SQLITE_OK;
    if (disk->capacity != kUnlimited && disk->UsedBytes() + size > disk->capacity) {
      disk->last_errno_ = ENOSPC;
      return SQLITE_IOERR_SHMSIZE;
    }
    shared_memory->push_back(std::make_unique<std::string>(size, '\0'));
  }
  *memory = (*shared_memory)[index]->data();
  return SQLITE_OK;
}

int MemoryDisk::State::OpenFile::LockShared(int first, int count, int flags) {
  if (useless()) return SQLITE_IOERR_SHMLOCK;
  const std::uint32_t slots = ((1U << count) - 1U) << first;
  if ((flags & SQLITE_SHM_UNLOCK) != 0) {
    inode->locks.DropSlots(holder, slots);
    return SQLITE_OK;
  }
  const bool exclusive = (flags & SQLITE_SHM_EXCLUSIVE) != 0;
  return inode->locks.TakeSlots(holder, slots, exclusive) ? SQLITE_OK : SQLITE_BUSY;
}

// The last connection to leave removes the shared memory. The next connection builds it again.
int MemoryDisk::State::OpenFile::UnmapShared() {
  inode->locks.DropSlots(holder, ~0U);
  if (!shared_memory) return SQLITE_OK;
  shared_memory.reset();
  if (!killed && inode->shared_memory.use_count() == 1) inode->shared_memory.reset();
  return SQLITE_OK;
}

const sqlite3_io_methods* MemoryDisk::State::Methods() {
  static constexpr int kSectorSize = 4096;  // what SQLite assumes of the machine's own disk
  static const sqlite3_io_methods methods = {
      .iVersion = 2,
      .xClose = [](sqlite3_file* f) { return Handle::Of(f).Close(); },
      .xRead = [](sqlite3_file* f, void* bytes, int count,
                  sqlite3_int64 offset) { return Handle::Of(f).Read(bytes, count, offset); },
      .xWrite = [](sqlite3_file* f, const void* bytes, int count,
                   sqlite3_int64 offset) { return Handle::Of(f).Write(bytes, count, offset); },
      .xTruncate = [](sqlite3_file* f, sqlite3_int64 size) { return Handle::Of(f).Truncate(size); },
      .xSync = [](sqlite3_file* f, int) { return Handle::Of(f).Sync(); },
      .xFileSize = [](sqlite3_file* f, sqlite3_int64* size) { return Handle::Of(f).Size(size); },
      .xLock = [](sqlite3_file* f, int level) { return Handle::Of(f).Lock(level); },
      .xUnlock = [](sqlite3_file* f, int level) { return Handle::Of(f).Unlock(level); },
      .xCheckReservedLock = [](sqlite3_file* f,
                               int* reserved) { return Handle::Of(f).CheckReserved(reserved); },
      .xFileControl = [](sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; },
      .xSectorSize = [](sqlite3_file*) { return kSectorSize; },
      .xDeviceCharacteristics = [](sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; },
      .xShmMap =
          [](sqlite3_file* f, int region, int bytes, int extend, void volatile** memory) {
            return Handle::Of(f).MapShared(region, bytes, extend != 0, memory);
          },
      .xShmLock = [](sqlite3_file* f, int first, int count,
                     int flags) { return Handle::Of(f).LockShared(first, count, flags); },
      .xShmBarrier = [](sqlite3_file*) { std::atomic_thread_fence(std::memory_order_seq_cst); },
      .xShmUnmap = [](sqlite3_file* f, int) { return Handle::Of(f).UnmapShared(); },
      .xFetch = nullptr,
      .xUnfetch = nullptr,
  };
  return &methods;
}

MemoryDisk::State::State(const Options& options)
    : lies_about_sync(options.lies_about_sync),
      page_bytes(options.page_bytes),
      random(Random(options.seed).Fork("disk")) {
  // The name contains this object's address, so no other living disk has the same name.
  name = fmt::format("sluice-memory-{}", fmt::ptr(this));
  vfs_.iVersion = 2;
  vfs_.szOsFile = sizeof(Handle);
  vfs_.mxPathname = 512;
  vfs_.zName = name.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = [](sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags,
                  int* out_flags) {
    return Of(vfs).Open(path, reinterpret_cast<Handle*>(file), flags, out_flags);
  };
  vfs_.xDelete = [](sqlite3_vfs* vfs, const char* path, int sync_folder) {
    return Of(vfs).Delete(path, sync_folder != 0);
  };
  vfs_.xAccess = [](sqlite3_vfs* vfs, const char* path, int, int* found) {
    State& disk = Of(vfs);
    *found = disk.live.contains(path) ? 1 : 0;
    return disk.dead ? SQLITE_IOERR_ACCESS : SQLITE_OK;
  };
  vfs_.xFullPathname = [](sqlite3_vfs*, const char* path, int room, char* full) {
    const std::size_t length = std::strlen(path);
    if (length >= static_cast<std::size_t>(room)) return SQLITE_CANTOPEN;
    std::memcpy(full, path, length + 1);
    return SQLITE_OK;
  };
  vfs_.xRandomness = [](sqlite3_vfs* vfs, int count, char* bytes) {
    Random& random = Of(vfs).random;
    std::generate_n(bytes, count, [&] { return static_cast<char>(random.Next()); });
    return count;
  };
  vfs_.xSleep = [](sqlite3_vfs*, int micros) { return micros; };
  vfs_.xCurrentTime = [](sqlite3_vfs*, double* days) {
    *days = 2440587.5;  // 1970, as Julian days
    return SQLITE_OK;
  };
  vfs_.xCurrentTimeInt64 = [](sqlite3_vfs*, sqlite3_int64* millis) {
    *millis = 210866760000000;  // 1970, as milliseconds of Julian days
    return SQLITE_OK;
  };
  vfs_.xGetLastError = [](sqlite3_vfs* vfs, int, char*) { return Of(vfs).last_errno_; };
  SetUpSqlite();
  SLUICE_CHECK(sqlite3_vfs_register(&vfs_, 0) == SQLITE_OK, "SQLite takes another disk");
}

MemoryDisk::State::~State() {
  SLUICE_CHECK(open_.empty(), "nothing is open on a disk that goes away");
  sqlite3_vfs_unregister(&vfs_);
}

int MemoryDisk::State::Begin(Operation operation) {
  const std::uint64_t number = operations++;
  dead = dead || number >= die_at;
  const double rate = operation == Operation::kSync ? rates.sync : rates.write;
  const bool fails = fail_at.erase(number) > 0 || (rate > 0 && random.Chance(rate));
  if (!dead && !fails) return SQLITE_OK;
  last_errno_ = EIO;
  return FailureOf(operation);
}

int MemoryDisk::State::Open(const char* path, Handle* handle, int flags, int* out_flags) {
  handle->base.pMethods = nullptr;
  last_errno_ = dead ? EIO : ENOENT;
  if (dead) return SQLITE_CANTOPEN;
  std::shared_ptr<Inode> inode;
  bool created = false;
  if (path == nullptr) {
    inode = std::make_shared<Inode>();  // scratch space, gone when closed
  } else if (const auto found = live.find(path); found != live.end()) {
    if ((flags & SQLITE_OPEN_EXCLUSIVE) != 0) return SQLITE_CANTOPEN;
    inode = found->second;
  } else {
    if ((flags & SQLITE_OPEN_CREATE) == 0) return SQLITE_CANTOPEN;
    const int code = Begin(Operation::kCreate);
    if (code != SQLITE_OK) return code;
    created = true;
    inode = live[path] = std::make_shared<Inode>();
  }
  constexpr int kJournals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL | SQLITE_OPEN_SUPER_JOURNAL;
  auto file = std::make_unique<OpenFile>(OpenFile{.disk = this, .inode = std::move(inode)});
  if (path != nullptr && (flags & SQLITE_OPEN_DELETEONCLOSE) != 0) file->delete_on_close = path;
  file->read_only = (flags & SQLITE_OPEN_READONLY) != 0;
  file->syncs_folder = created && (flags & kJournals) != 0;
  file->inode->locks.Add(&file->holder);
  open_.push_back(file.get());
  handle->file = file.release();
  handle->base.pMethods = Methods();
  if (out_flags != nullptr) *out_flags = flags;
  return SQLITE_OK;
}

int MemoryDisk::State::Delete(const char* path, bool sync_folder) {
  if (dead) return SQLITE_IOERR_DELETE;
  const auto found = live.find(path);
  if (found == live.end()) return SQLITE_IOERR_DELETE_NOENT;
  const int code = Begin(Operation::kDelete);
  if (code != SQLITE_OK) return code;
  live.erase(found);
  if (sync_folder && !lies_about_sync) SyncFolder();
  return SQLITE_OK;
}

void MemoryDisk::State::SyncFolder() {
  durable = live;
  for (const auto& [path, inode] : live) inode->name_is_durable = true;
}

void MemoryDisk::State::SyncNameOf(const std::shared_ptr<Inode>& inode) {
  inode->name_is_durable = true;
  for (const auto& [path, other] : live) {
    if (other == inode) durable[path] = inode;
  }
}

std::uint64_t MemoryDisk::State::UsedBytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [path, inode] : live) {
    bytes += inode->bytes.size();
    if (!inode->shared_memory) continue;
    for (const auto& region : *inode->shared_memory) bytes += region->size();
  }
  return bytes;
}

void MemoryDisk::State::Crash(Unsynced unsynced) {
  for (OpenFile* file : open_) {
    if (!file->killed) file->Kill();
  }
  dead = false;
  die_at = kUnlimited;
  if (unsynced != Unsynced::kKept) LosePower(unsynced == Unsynced::kDrawn);
}

void MemoryDisk::State::LosePower(bool drawn) {
  // Sometimes nearly everything had reached the disk, sometimes nearly nothing.
  const double kept = drawn ? random.Uniform() : 0;
  Folder after;
  std::set<std::string> paths;
  for (const auto& [path, inode] : live) paths.insert(path);
  for (const auto& [path, inode] : durable) paths.insert(path);
  for (const std::string& path : paths) {
    const Folder& from = random.Chance(kept) ? live : durable;
    if (const auto found = from.find(path); found != from.end()) after.insert(*found);
  }
  for (const auto& [path, inode] : after) {
    inode->bytes.LosePower(kept, random);
    inode->name_is_durable = true;
  }
  live = after;
  durable = std::move(after);
}

MemoryDisk::MemoryDisk(const Options& options) : state_(std::make_unique<State>(options)) {}
MemoryDisk::~MemoryDisk() = default;

Disk MemoryDisk::disk() const { return {state_->name, state_->page_bytes}; }
std::uint64_t MemoryDisk::operations() const { return state_->operations; }
void MemoryDisk::DieAt(std::uint64_t operation) { state_->die_at = operation; }
bool MemoryDisk::dead() const { return state_->dead; }
void MemoryDisk::Crash(Unsynced unsynced) { state_->Crash(unsynced); }
void MemoryDisk::FailAt(std::uint64_t operation) { state_->fail_at.insert(operation); }
void MemoryDisk::FailReadAt(std::uint64_t read) { state_->fail_read_at = read; }
std::uint64_t MemoryDisk::fails_read_at() const { return state_->fail_read_at; }
std::uint64_t MemoryDisk::reads() const { return state_->reads; }
void MemoryDisk::FailOften(const FaultRates& rates) { state_->rates = rates; }
void MemoryDisk::SetCapacity(std::uint64_t bytes) { state_->capacity = bytes; }
std::uint64_t MemoryDisk::used_bytes() const { return state_->UsedBytes(); }

}  // namespace sluice
