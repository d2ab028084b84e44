// SPDX-License-Identifier: Apache-2.0
#include "backends/sqlite/listener.hpp"

#include "base/signals.hpp"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace cremone::sqlite {

/// Shared with the thread, which may be the one that destroys the listener: a hint can end a client.
struct listener::state {
  struct waiting {
    std::size_t tone = 0;
    std::weak_ptr<hint_sink> wake;
    std::optional<std::int64_t> watched;
  };
  using sinks = std::vector<std::shared_ptr<hint_sink>>;

  explicit state(std::shared_ptr<const live_file> l) : live(std::move(l)) {}

  const std::shared_ptr<const live_file> live;
  std::mutex mutex;
  std::map<owner_id, waiting> all;
  live_file::score heard{};  // when the first waiter came: what rings later is for it
  bool stopped = false;
  std::thread thread;

  void run();
  [[nodiscard]] sinks due(const live_file::score& now, std::size_t& watched);
};

listener::listener(std::shared_ptr<const live_file> live)
    : state_(std::make_shared<state>(std::move(live))) {}

listener::~listener() {
  std::thread thread;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopped = true;
    thread = std::move(state_->thread);
  }
  if (!thread.joinable()) {
    return;
  }
  state_->live->ring(state_->live->life(), "");
  if (thread.get_id() == std::this_thread::get_id()) {
    thread.detach();
  } else {
    thread.join();
  }
}

void listener::add(const lock_name& name, const owner_id& owner, std::weak_ptr<hint_sink> wake) {
  const std::lock_guard lock(state_->mutex);
  state::waiting& w = state_->all[owner];
  w.tone = live_file::tone_of(name.str());
  w.wake = std::move(wake);
  if (!state_->thread.joinable() && !state_->stopped) {
    const signals_blocked quiet;
    state_->heard = state_->live->heard();
    try {
      state_->thread = std::thread([s = state_] { s->run(); });
      ::pthread_setname_np(state_->thread.native_handle(), "cremone-bell");
    } catch (const std::system_error&) {  // no thread to be had: waiters ask again by themselves, more slowly
    }
  }
}

void listener::remove(const owner_id& owner) noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->all.erase(owner);
}

void listener::watch(const owner_id& owner, std::optional<std::int64_t> life) {
  {
    const std::lock_guard lock(state_->mutex);
    const auto at = state_->all.find(owner);
    if (at == state_->all.end() || at->second.watched == life) {
      return;
    }
    at->second.watched = life;
  }
  if (life) {
    state_->live->ring(state_->live->life(), "");  // so that the thread sleeps shorter from now on
  }
}

std::shared_ptr<hint_sink> listener::find(const owner_id& owner) {
  const std::lock_guard lock(state_->mutex);
  const auto at = state_->all.find(owner);
  return at == state_->all.end() ? nullptr : at->second.wake.lock();
}

void listener::state::run() {
  while (true) {
    const std::uint32_t seen = live->rung();
    const live_file::score now = live->heard();
    std::size_t watched = 0;
    sinks told;
    {
      const std::lock_guard lock(mutex);
      if (stopped) {
        return;
      }
      told = due(now, watched);
      heard = now;
    }
    for (const auto& sink : told) {
      sink->hint();
    }
    told.clear();  // may end the client
    const auto pause = std::max(look_every, std::chrono::milliseconds(watched / looks_per_ms));
    live->wait(seen, watched > 0 ? std::optional(pause) : std::nullopt);
  }
}

listener::state::sinks listener::state::due(const live_file::score& now, std::size_t& watched) {
  sinks told;
  for (auto& [owner, w] : all) {
    const bool rung = heard[w.tone] != now[w.tone];
    const bool died = w.watched && live->probe(*w.watched, live->where()) == liveness::dead;
    if (rung || died) {
      if (auto sink = w.wake.lock()) {
        told.push_back(std::move(sink));
      }
    }
    if (died) {
      w.watched.reset();
    }
    watched += w.watched ? 1U : 0U;
  }
  return told;
}

}  // namespace cremone::sqlite
