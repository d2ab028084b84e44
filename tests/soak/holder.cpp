// SPDX-License-Identifier: Apache-2.0
//
// One holder of the soak run (`./dev soak`). It acquires locks in a loop and logs what its leases
// promise; tests/soak/judge.py judges the logs. It must not know which faults are injected.
//
//   soak_holder URL LOG SEED LABEL MAX_TTL_MS NAME...   acquires until SIGTERM
//   soak_holder child LOG MS                            the command of `cremone run`: stays for MS
//
// One line per event. Times are microseconds on the validity clock, which no fault moves:
//   G <name> <token> <asked> <granted> <deadline> <ttl>   acquired; deadline and ttl of a child: 0
//   D <deadline>          a renewal moved the deadline
//   S <now>               a child is alive
//   E <now> <how>         the hold is over: released, or lost and last seen held at <now>
//   R <now> <error code>  an acquire failed
//   V <now> <text>        an event of the client
#include <cremone/cremone.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using cremone::instant;
using cremone::validity_clock;
using std::chrono::milliseconds;

/// How often a holder looks at its deadline. The judge may see a loss this much too early.
constexpr milliseconds glance{5};

volatile std::sig_atomic_t stopping = 0;

std::int64_t micros(instant t) {
  return std::chrono::floor<std::chrono::microseconds>(t.time_since_epoch()).count();
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? "0" : value;
}

/// Each line is one write(): a kill leaves whole lines, and threads do not mix theirs.
class log_file {
 public:
  explicit log_file(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  log_file(const log_file&) = delete;
  log_file& operator=(const log_file&) = delete;
  ~log_file() { ::close(file_); }

  template <class... Part>
  void line(const Part&... part) {
    std::ostringstream text;
    ((text << part << ' '), ...);
    text << '\n';
    const std::string bytes = text.str();
    if (::write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      std::_Exit(74);  // a hold that is not in the log would hide an overlap
    }
  }

 private:
  int file_;
};

class holder {
 public:
  holder(cremone::client& locks, log_file& log, std::uint64_t seed, std::string label, milliseconds max_ttl)
      : locks_(locks), log_(log), random_(seed), label_(std::move(label)), max_ttl_(max_ttl) {}

  void acquire_once(const std::string& name) {
    const milliseconds ttl = std::min(max_ttl_, milliseconds(500 * (1 + up_to(3))));
    const milliseconds wait = up_to(2) == 0 ? cremone::no_wait : milliseconds(500 + up_to(4000));
    const instant asked = validity_clock::now();
    auto lease = locks_.acquire(name, {.ttl = ttl, .wait = wait, .label = label_});
    if (!lease) {
      log_.line("R", micros(validity_clock::now()), to_string(lease.error().code()));
      return;
    }
    const instant deadline = lease->deadline();
    const instant granted = validity_clock::now();
    if (deadline == instant::min()) {
      log_.line("R", micros(granted), "lost");  // over before this thread ran: nothing was claimed
      return;
    }
    log_.line("G", name, lease->token().value(), micros(asked), micros(granted), micros(deadline),
              std::chrono::microseconds(ttl).count());
    keep(*lease, deadline, granted + some_time(ttl));
  }

  void pause() { std::this_thread::sleep_for(milliseconds(30 + up_to(200))); }

 private:
  /// Until `leave` or the loss, whichever is first.
  void keep(cremone::lease& lease, instant promised, instant leave) {
    instant seen_held = validity_clock::now();
    while (true) {
      const instant now = validity_clock::now();
      const instant deadline = lease.deadline();
      if (deadline == instant::min()) {
        return log_.line("E", micros(seen_held), "lost");
      }
      if (deadline != promised) {
        promised = deadline;
        log_.line("D", micros(promised));
      }
      seen_held = now;
      if (now >= leave || stopping != 0) {
        break;
      }
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(glance, leave - now));
    }
    log_.line("E", micros(seen_held), "released");
    (void)lease.release();
  }

  /// Most holds are short, so that there are many. Some last longer than the ttl, with renewals.
  milliseconds some_time(milliseconds ttl) {
    const std::uint64_t kind = up_to(9);
    if (kind == 0) {
      return ttl + milliseconds(up_to(3 * static_cast<std::uint64_t>(ttl.count())));
    }
    return milliseconds(kind <= 2 ? 50 + up_to(300) : up_to(30));
  }

  std::uint64_t up_to(std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(0, most)(random_);
  }

  cremone::client& locks_;
  log_file& log_;
  std::mt19937_64 random_;
  const std::string label_;
  const milliseconds max_ttl_;
};

int be_holder(const std::vector<std::string>& args) {
  log_file log(args[2]);
  auto locks = cremone::open(args[1], {.on_event = [&log](const cremone::store_event& e) {
                               log.line("V", micros(validity_clock::now()), to_string(e.what), e.message);
                             }});
  if (!locks) {
    log.line("R", micros(validity_clock::now()), locks.error().message());
    return 69;
  }
  holder h(*locks, log, std::stoull(args[3]), args[4], milliseconds(std::stoll(args[5])));
  std::mt19937_64 random(std::stoull(args[3]) + 1);
  while (stopping == 0) {
    h.acquire_once(args[6 + random() % (args.size() - 6)]);
    h.pause();
  }
  return 0;
}

int be_child(const std::string& path, milliseconds span) {
  log_file log(path);
  const instant granted = validity_clock::now();
  log.line("G", environment("CREMONE_NAME"), environment("CREMONE_TOKEN"), environment("SOAK_ASKED"),
           micros(granted), 0, 0);
  instant now = granted;
  for (; now < granted + span; now = validity_clock::now()) {
    log.line("S", micros(now));
    std::this_thread::sleep_for(glance);
  }
  log.line("E", micros(now), "done");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv, argv + argc);
  if (args.size() == 4 && args[1] == "child") {
    return be_child(args[2], milliseconds(std::stoll(args[3])));
  }
  if (args.size() < 7) {
    return 64;
  }
  (void)std::signal(SIGTERM, [](int) { stopping = 1; });
  return be_holder(args);
}
