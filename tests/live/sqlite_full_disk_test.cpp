// SPDX-License-Identifier: Apache-2.0
//
// sqlite:// on a disk without a free block: holders go on renewing, a new lock is refused with the reason, and freed
// space is used again. The disks are small tmpfs mounts.
#include "backends/sqlite/store.hpp"
#include "support/namespaces.hpp"
#include "support/temp_directory.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace cremone::sqlite {
namespace {

using namespace std::chrono_literals;

constexpr const char* disk_size = "2m";
constexpr int many_renewals = 1000;  // a log that only grew would need 4 MB

const store_time time_of_test{instant(1h), wall_time(std::chrono::microseconds(1'800'000'000'000'000))};

/// A file that takes every free block, until it goes.
class filler {
 public:
  explicit filler(const std::string& directory) : path_(directory + "filler") {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::string block(4096, 'x');
    for (std::size_t size = block.size(); size > 0; size /= 16) {
      while (::write(file, block.data(), size) > 0) {
      }
    }
    ::close(file);
  }
  filler(const filler&) = delete;
  filler& operator=(const filler&) = delete;
  ~filler() { std::filesystem::remove(path_); }

 private:
  std::string path_;
};

std::shared_ptr<store> open_store(const std::string& directory) {
  store_settings settings;
  settings.path = directory + "locks.db";
  return store::open(settings);
}

/// Holds locks by one store and renews them.
class holder {
 public:
  explicit holder(const std::string& directory, std::uint8_t id = 1)
      : locks_(open_store(directory)), owner_({id}) {}

  void acquire(const std::string& name) {
    const acquire_request request{.name = name, .owner = owner_, .ttl = 10s};
    bool freed = false;
    if (!locks_->take(request, time_of_test) &&
        !std::holds_alternative<grant>(locks_->try_acquire(request, time_of_test, freed))) {
      throw failure{error(errc::busy, name)};
    }
    names_.emplace_back(name);
  }

  /// Acquires locks under new names until that fails; why it did.
  std::string acquire_until_refused() {
    for (int i = 0; i < 10'000; ++i) {
      try {
        acquire("more-" + std::to_string(i));
      } catch (const failure& f) {
        return f.why.message();
      }
    }
    return "10,000 locks were granted";
  }

  /// All locks, in one transaction. Empty, or what is wrong.
  std::string renew(int times) {
    for (int i = 0; i < times; ++i) {
      std::vector<renewal> items;
      for (const lock_name& name : names_) {
        items.push_back({.name = &name, .owner = owner_, .seq = ++seq_, .ttl = 10s});
      }
      try {
        for (const answer& a : locks_->renew(items)) {
          if (!std::holds_alternative<done>(a)) {
            return "renewal " + std::to_string(i) + " was refused";
          }
        }
      } catch (const failure& f) {
        return "renewal " + std::to_string(i) + ": " + f.why.message();
      }
    }
    return "";
  }

 private:
  std::shared_ptr<store> locks_;
  owner_id owner_;
  std::vector<lock_name> names_;
  std::uint64_t seq_ = 0;
};

class SqliteFullDisk : public ::testing::Test {
 protected:
  template <class F>
  void on_disk(F fn) {
    test::on_small_disk(directory_.file(""), disk_size, [&](const std::string& on) -> std::string {
      try {
        return fn(on);
      } catch (const failure& f) {
        return f.why.message();
      }
    });
  }

  test::temp_directory directory_;
};

TEST_F(SqliteFullDisk, FirstLockOfNewFileIsRenewed) {
  on_disk([](const std::string& on) {
    holder one(on);
    one.acquire("lock");
    const filler full(on);
    return one.renew(many_renewals);
  });
}

TEST_F(SqliteFullDisk, ManyLocksInPagesThatWereNeverCopiedBackAreRenewed) {
  on_disk([](const std::string& on) {
    holder one(on);
    for (int i = 0; i < 500; ++i) {
      one.acquire("lock-" + std::to_string(i));
    }
    const filler full(on);
    return one.renew(100);
  });
}

TEST_F(SqliteFullDisk, RefusesNewLocksKeepsOldOnesAndRecovers) {
  on_disk([](const std::string& on) -> std::string {
    holder one(on);
    one.acquire("lock");
    {
      const filler full(on);
      const std::string why = one.acquire_until_refused();
      if (!why.starts_with("storage_error") || why.find("the disk is full") == std::string::npos) {
        return why;
      }
      if (const std::string wrong = one.renew(many_renewals); !wrong.empty()) {
        return wrong;
      }
    }
    for (int i = 0; i < 300; ++i) {
      one.acquire("later-" + std::to_string(i));
    }
    return one.renew(10);
  });
}

TEST_F(SqliteFullDisk, ClientWithoutReserveGetsNoLock) {
  on_disk([](const std::string& on) -> std::string {
    holder one(on);
    const filler full(on);
    const std::string why = one.acquire_until_refused();
    return why.find("the disk is full") != std::string::npos && one.renew(1).empty() ? "" : why;
  });
}

TEST_F(SqliteFullDisk, EightProcessesRenewAtTheSameTime) {
  on_disk([](const std::string& on) -> std::string {
    (void)open_store(on);
    int held[2];
    int go[2];
    if (::pipe(held) != 0 || ::pipe(go) != 0) {
      return "no pipe";
    }
    std::vector<pid_t> children;
    for (std::uint8_t id = 1; id <= 8; ++id) {
      children.push_back(::fork());
      if (children.back() == 0) {
        std::string wrong = "no lock";
        try {
          holder one(on, id);
          one.acquire("lock-" + std::to_string(id));
          (void)!::write(held[1], "h", 1);
          char sign = 0;
          (void)!::read(go[0], &sign, 1);
          wrong = one.renew(many_renewals);
        } catch (const failure& f) {
          wrong = f.why.message();
        }
        (void)!::write(STDERR_FILENO, wrong.data(), wrong.size());
        ::_exit(wrong.empty() ? 0 : 1);
      }
    }
    char sign = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
      (void)!::read(held[0], &sign, 1);
    }
    const filler full(on);
    (void)!::write(go[1], "goforit!", children.size());
    int failed = 0;
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      failed += status == 0 ? 0 : 1;
    }
    return failed == 0 ? "" : std::to_string(failed) + " of 8 holders lost their locks";
  });
}

}  // namespace
}  // namespace cremone::sqlite
