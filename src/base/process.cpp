// SPDX-License-Identifier: Apache-2.0
//
// The stamp lives on a page that the kernel wipes in every child (MADV_WIPEONFORK), so that raw clone() is seen
// as well as fork(), which pthread_atfork would not give.
#include "base/process.hpp"

#include "base/check.hpp"

#include <pwd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <vector>

namespace cremone {

namespace {

using stamp_cell = std::atomic<std::uint64_t>;

stamp_cell& stamp_page() noexcept {
  static stamp_cell* const page = [] {
    const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CREMONE_CHECK(at != MAP_FAILED);
    CREMONE_CHECK(::madvise(at, size, MADV_WIPEONFORK) == 0);  // Linux >= 4.14; without it fork is not safe
    return ::new (at) stamp_cell(0);
  }();
  return *page;
}

std::uint64_t fresh_stamp() noexcept {
  std::uint64_t stamp = 0;
  while (stamp == 0) {  // zero is what the kernel leaves in a child
    CREMONE_CHECK(::getrandom(&stamp, sizeof stamp, 0) == static_cast<ssize_t>(sizeof stamp));
  }
  return stamp;
}

}  // namespace

std::uint64_t process_stamp() noexcept {
  stamp_cell& cell = stamp_page();
  std::uint64_t seen = cell.load(std::memory_order_relaxed);
  if (seen == 0) [[unlikely]] {
    const std::uint64_t mine = fresh_stamp();
    return cell.compare_exchange_strong(seen, mine, std::memory_order_relaxed) ? mine : seen;
  }
  return seen;
}

void leak_in_child(std::shared_ptr<void> inherited) noexcept {
  // Reachable for ever, so that leak checkers know it for intent. No lock: a child starts with one thread, and
  // one that starts more before dropping its copies races only with itself over garbage; a node each avoids that.
  struct node {
    std::shared_ptr<void> kept;
    node* next;
  };
  static std::atomic<node*> head{nullptr};
  auto* const fresh = new node{std::move(inherited), head.load()};
  while (!head.compare_exchange_weak(fresh->next, fresh)) {
  }
}

process_identity this_process() {
  process_identity me;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) {
    me.host = host.data();
  }
  me.pid = ::getpid();

  // The name if the system knows one, else the number: a container often has no passwd entry for its user.
  std::vector<char> space(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, space.data(), space.size(), &found) == 0 && found != nullptr) {
    me.user = found->pw_name;
  } else {
    me.user = std::to_string(::geteuid());
  }
  return me;
}

}  // namespace cremone
