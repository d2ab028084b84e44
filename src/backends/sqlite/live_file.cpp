// SPDX-License-Identifier: Apache-2.0
#include "backends/sqlite/live_file.hpp"

#include "backends/sqlite/location.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

namespace cremone::sqlite {

namespace {

error trouble(const std::string& what, const std::string& path, int number) {
  return {number == EACCES || number == EPERM ? errc::access_denied : errc::storage_error,
          what + " " + path + ": " + std::generic_category().message(number)};
}

struct flock byte_lock(short type, std::int64_t byte) noexcept {
  struct flock wanted {};
  wanted.l_type = type;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = byte;
  wanted.l_len = 1;
  return wanted;
}

bool lock_byte(int fd, short type, std::int64_t byte) noexcept {
  struct flock wanted = byte_lock(type, byte);
  return ::fcntl(fd, F_OFD_SETLK, &wanted) == 0;
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
           const timespec* bound) noexcept {
  return ::syscall(SYS_futex, &word, operation, value, bound, nullptr, 0);
}

/// The same in every process and build, unlike std::hash.
std::uint64_t fnv1a(std::string_view text) noexcept {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return hash;
}

}  // namespace

std::array<std::uint8_t, 16> this_boot() {
  std::array<std::uint8_t, 16> boot{};
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string text;
  in >> text;
  std::erase(text, '-');
  if (text.size() == 2 * boot.size() && text.find_first_not_of("0123456789abcdef") == std::string::npos) {
    for (std::size_t i = 0; i < boot.size(); ++i) {
      boot[i] = static_cast<std::uint8_t>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    }
  }
  return boot;
}

result<std::unique_ptr<live_file>> live_file::open(const std::string& database,
                                                   std::span<const std::uint8_t> boot) {
  std::unique_ptr<live_file> made(new live_file);
  made->path_ = database + ".live";
  const std::string& path = made->path_;
  made->prober_ = descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made->prober_ && errno == ELOOP) {
    return error(errc::misconfigured, path + " is a symbolic link; remove it");
  }
  if (!made->prober_) {
    return trouble("cannot open", path, errno);
  }
  struct stat seen {};
  if (::fstat(made->prober_.get(), &seen) != 0) {
    return trouble("cannot use", path, errno);
  }
  if (auto fine = trusted_beside(database, seen.st_uid); !fine) {
    return fine.error();
  }
  if (seen.st_size == 0) {
    share_like(database, made->prober_.get());
  }
  if (auto mapped = made->map(path); !mapped) {
    return mapped.error();
  }
  std::copy(boot.begin(), boot.end(), made->where_.begin());
  const std::uint64_t inode = seen.st_ino;
  std::memcpy(made->where_.data() + 16, &inode, sizeof inode);
  return made;
}

live_file::~live_file() {
  if (shared_ != nullptr) {
    ::munmap(shared_, size);
  }
}

result<void> live_file::map(const std::string& path) {
  // Blocks are allocated now: touching a hole of a file on a full disk would end the process by SIGBUS.
  if (const int failed = ::posix_fallocate(prober_.get(), 0, size); failed != 0) {
    return trouble("cannot make room for", path, failed);
  }
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, prober_.get(), 0);
  if (at == MAP_FAILED) {
    return trouble("cannot map", path, errno);
  }
  shared_ = static_cast<bell*>(at);
  return {};
}

result<void> live_file::take_byte() {
  for (int tries = 0; tries < 8; ++tries) {
    holder_ = descriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    struct stat mine {};
    struct stat other {};
    if (!holder_ || ::fstat(holder_.get(), &mine) != 0 || ::fstat(prober_.get(), &other) != 0) {
      return trouble("cannot open", path_, errno);
    }
    if (mine.st_ino != other.st_ino) {
      return error(errc::storage_error, path_ + " was replaced while it was opened; try again");
    }
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
      return trouble("no random numbers for", path_, errno);
    }
    // Even, behind the shared pages, and with room for the byte behind it.
    life_ = static_cast<std::int64_t>((random >> 2U) & ~std::uint64_t{1}) | (std::int64_t{1} << 40U);
    if (!locked(life_ + 1) && lock_byte(holder_.get(), F_WRLCK, life_)) {
      return {};
    }
  }
  return error(errc::storage_error,
               "cannot lock a byte of " + path_ + ": " + std::generic_category().message(errno));
}

bool live_file::locked(std::int64_t byte) const noexcept {
  struct flock asked = byte_lock(F_WRLCK, byte);
  // An answer that does not come counts as "somebody lives": then silence decides.
  return ::fcntl(prober_.get(), F_OFD_GETLK, &asked) != 0 || asked.l_type != F_UNLCK;
}

bool live_file::anybody() const noexcept {
  struct flock asked = byte_lock(F_WRLCK, 0);
  asked.l_len = 0;  // to the end, however far
  return ::fcntl(prober_.get(), F_OFD_GETLK, &asked) != 0 || asked.l_type != F_UNLCK;
}

liveness live_file::probe(std::int64_t life, std::span<const std::uint8_t> recorded) const noexcept {
  static constexpr place nowhere{};
  const bool known_boot = !std::equal(where_.begin(), where_.begin() + 16, nowhere.begin());
  if (!known_boot || !std::equal(recorded.begin(), recorded.end(), where_.begin(), where_.end())) {
    return liveness::untold;
  }
  if (locked(life)) {
    return liveness::alive;
  }
  return locked(life + 1) ? liveness::command_only : liveness::dead;
}

result<int> live_file::lifeline() const {
  // Read only: it goes to a command that may run as another user, and must not be able to write to what all share.
  descriptor line(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat mine {};
  struct stat other {};
  if (!line || ::fstat(line.get(), &mine) != 0 || ::fstat(prober_.get(), &other) != 0) {
    return trouble("cannot open", path_, errno);
  }
  if (mine.st_ino != other.st_ino) {
    return error(errc::storage_error, path_ + " was replaced by somebody; open the client anew");
  }
  if (!lock_byte(line.get(), F_RDLCK, life_ + 1)) {
    return trouble("cannot lock a byte of", path_, errno);
  }
  return line.release();
}

live_file::bell& live_file::bell_of(std::int64_t life) const noexcept {
  return shared_[(static_cast<std::uint64_t>(life) >> 1U) % bells];
}

std::size_t live_file::tone_of(std::string_view name) noexcept { return fnv1a(name) % tones; }

void live_file::ring(std::int64_t life, std::string_view name) const noexcept {
  bell& b = bell_of(life);
  b.of_tone[tone_of(name)].fetch_add(1);
  b.rings.fetch_add(1);
  (void)futex(b.rings, FUTEX_WAKE, INT_MAX, nullptr);
}

std::uint32_t live_file::rung() const noexcept { return bell_of(life_).rings.load(); }

live_file::score live_file::heard() const noexcept {
  score all{};
  const bell& b = bell_of(life_);
  std::transform(b.of_tone.begin(), b.of_tone.end(), all.begin(),
                 [](const auto& count) { return count.load(); });
  return all;
}

void live_file::wait(std::uint32_t seen, std::optional<std::chrono::milliseconds> bound) const noexcept {
  timespec limit{};
  if (bound) {
    limit.tv_sec = bound->count() / 1000;
    limit.tv_nsec = bound->count() % 1000 * 1'000'000;
  }
  (void)futex(bell_of(life_).rings, FUTEX_WAIT, seen, bound ? &limit : nullptr);
}

}  // namespace cremone::sqlite
