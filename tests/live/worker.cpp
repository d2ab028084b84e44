// SPDX-License-Identifier: Apache-2.0
//
// A program that uses the library as any other would, for tests that need more than one process:
//   worker URL talk                 does what it is told on its input, see talk()
//   worker URL increment NAME FILE N  adds 1 to the number in FILE under a lock, N times, and notes its tokens in it
//   worker URL share NAME FILE N      the same beside programs that are not cremone; says how often it had to wait
//   worker URL once NAME            takes a lock, leaves it and returns from main
//   worker URL cycle NAME N         takes a lock and leaves it, N times, without a pause
//   worker URL crowd NAME N R       N threads, each of which takes the lock R times, or until told to stop with R = 0, and says
//                                   its label, its token and the time in microseconds after each
//   worker URL churn NAME           takes, renews and leaves locks until it is killed
#include <cremone/cremone.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iostream>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

int complain(const cremone::error& why) {
  std::cout << "error " << why.message() << std::endl;
  return 1;
}

/// Lines in, lines out: `acquire NAME TTL WAIT`, `release`, `held`, `write`, `stopped`, `loss`, `waiters NAME`, `fork`.
class talk {
 public:
  explicit talk(cremone::client& locks) : locks_(locks) {}

  int run() {
    std::cout << "ready" << std::endl;
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      std::string what;
      words >> what;
      std::cout << answer(what, words) << std::endl;
    }
    return 0;
  }

 private:
  std::string answer(const std::string& what, std::istringstream& words) {
    if (what == "acquire") {
      return acquire(words);
    }
    if (what == "release") {
      const auto done = lease_.release();
      return done ? "released" : std::string(to_string(done.error().code()));
    }
    if (what == "held") {
      return lease_.held() ? "yes" : "no";
    }
    if (what == "write") {  // what goes to the resource, without another look whether it is still ours
      return "write " + std::to_string(lease_.token().value());
    }
    if (what == "reenter") {
      const auto again = lease_.reenter();
      return again ? "yes" : std::string(to_string(again.error().code()));
    }
    if (what == "stopped") {
      return stop_.stop_requested() ? "yes" : "no";
    }
    if (what == "loss") {
      const std::lock_guard lock(mutex_);
      return "loss " + loss_;
    }
    if (what == "waiters") {
      std::string name;
      words >> name;
      const auto seen = locks_.inspect(name);
      return seen ? std::to_string(seen->waiters.size()) : seen.error().message();
    }
    return "what?";
  }

  std::string acquire(std::istringstream& words) {
    std::string name;
    std::int64_t ttl = 0;
    std::int64_t wait = 0;
    words >> name >> ttl >> wait;
    auto got =
        locks_.acquire(name, {.ttl = milliseconds(ttl), .wait = milliseconds(wait), .label = "worker"});
    if (!got) {
      return std::string(to_string(got.error().code())) + " " + got.error().detail();
    }
    lease_ = std::move(*got);
    stop_ = lease_.get_stop_token();
    lease_.on_lost([this](const cremone::error& why) {
      const std::lock_guard lock(mutex_);
      loss_ = why.message();
    });
    std::ostringstream text;
    text << "granted " << lease_.token();
    return text.str();
  }

  cremone::client& locks_;
  std::mutex mutex_;
  std::string loss_;
  std::stop_token stop_;
  cremone::lease lease_;
};

/// The file is read and written without any other protection: a second one inside would lose an increment.
int increment(cremone::client& locks, const std::string& name, const std::string& path, int times) {
  for (int i = 0; i < times; ++i) {
    const auto lease = locks.acquire(name);
    if (!lease) {
      return complain(lease.error());
    }
    std::uint64_t value = 0;
    std::ifstream(path) >> value;
    std::ofstream(path) << value + 1;
    std::ofstream(path + ".tokens", std::ios::app) << value + 1 << ' ' << lease->token() << '\n';
  }
  return 0;
}

/// As redis_py_worker.py does it: a file that only one may make shows that nobody else is inside.
int share(cremone::client& locks, const std::string& name, const std::string& path, int times) {
  int blocked = 0;
  for (int i = 0; i < times; ++i) {
    auto lease = locks.acquire(name, {.wait = cremone::no_wait});
    if (!lease && lease.error() == cremone::errc::busy) {
      ++blocked;
      lease = locks.acquire(name);
    }
    if (!lease) {
      return complain(lease.error());
    }
    const std::string inside = path + ".inside";
    const int made = ::open(inside.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (made < 0) {
      std::cout << "two inside" << std::endl;
      return 1;
    }
    ::close(made);
    std::uint64_t value = 0;
    std::ifstream(path) >> value;
    std::ofstream(path) << value + 1;
    ::unlink(inside.c_str());
  }
  std::cout << "blocked " << blocked << std::endl;
  return 0;
}

int once(cremone::client& locks, const std::string& name) {
  auto lease = locks.acquire(name);
  return lease ? 0 : complain(lease.error());
}

int cycle(cremone::client& locks, const std::string& name, int times) {
  for (int i = 0; i < times; ++i) {
    if (const auto lease = locks.acquire(name); !lease) {
      return complain(lease.error());
    }
  }
  return 0;
}

int churn(cremone::client& locks, const std::string& name) {
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  std::cout << "ready" << std::endl;
  while (true) {
    const auto lease = locks.acquire(name, {.ttl = milliseconds(100)});
    if (lease) {  // long enough for a renewal, sometimes
      std::this_thread::sleep_for(microseconds(random() % 4 == 0 ? random() % 60'000 : random() % 500));
    }
  }
}

/// Says what it got before it gives it back, so that the order of the lines is the order of the grants.
int crowd(cremone::client& locks, const std::string& name, int threads, int rounds) {
  std::mutex output;
  std::atomic<bool> stop = false;
  std::atomic<int> failed = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, label = std::to_string(::getpid()) + "-" + std::to_string(t)] {
      for (int r = 0; !stop && (rounds == 0 || r < rounds); ++r) {
        auto lease = locks.acquire(name, {.ttl = milliseconds(2000), .label = label});
        const std::lock_guard lock(output);
        if (!lease) {
          std::cout << "error " << lease.error().message() << std::endl;
          ++failed;
          return;
        }
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        std::cout << label << " " << lease->token() << " " << std::chrono::floor<microseconds>(now).count()
                  << "\n"
                  << std::flush;
      }
    });
  }
  std::string line;
  if (rounds == 0 && std::getline(std::cin, line)) {
    stop = true;
  }
  for (std::thread& t : all) {
    t.join();
  }
  std::cout << "end" << std::endl;
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv, argv + argc);
  if (args.size() < 3) {
    return 64;
  }
  auto locks = cremone::open(args[1]);
  if (!locks) {
    return complain(locks.error());
  }
  const std::string& what = args[2];
  if (what == "talk") {
    return talk(*locks).run();
  }
  if (what == "increment") {
    return increment(*locks, args.at(3), args.at(4), std::stoi(args.at(5)));
  }
  if (what == "share") {
    return share(*locks, args.at(3), args.at(4), std::stoi(args.at(5)));
  }
  if (what == "once") {
    return once(*locks, args.at(3));
  }
  if (what == "cycle") {
    return cycle(*locks, args.at(3), std::stoi(args.at(4)));
  }
  if (what == "crowd") {
    return crowd(*locks, args.at(3), std::stoi(args.at(4)), std::stoi(args.at(5)));
  }
  if (what == "churn") {
    return churn(*locks, args.at(3));
  }
  return 64;
}
