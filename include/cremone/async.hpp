// SPDX-License-Identifier: Apache-2.0
//
// The async face: the same leases for programs built on Boost.Asio, by completion tokens: a callback, a future,
// `use_awaitable`, whatever Asio knows. The library itself uses no coroutines.
#pragma once

#include <cremone/callback.hpp>
#include <cremone/client.hpp>
#include <cremone/lease.hpp>
#include <cremone/options.hpp>
#include <cremone/result.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/require.hpp>
#include <boost/asio/system_executor.hpp>

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace cremone {

namespace detail {

/// Starts an acquisition; `done` is called once, on any thread. Returns what cancels it.
[[nodiscard]] callback<void()> start_acquire(const std::shared_ptr<engine>& e, const lock_name& name,
                                             const acquire_options& options,
                                             callback<void(result<lease>)> done);
void start_release(lease held, callback<void(result<void>)> done);

/// False, and `fn` untouched, when there is no callback thread to run it on.
[[nodiscard]] bool run_user_code(const std::shared_ptr<engine>& e, callback<void()>& fn);

[[nodiscard]] std::shared_ptr<engine> engine_of(const client& c);
[[nodiscard]] std::shared_ptr<engine> engine_of(const lease& l);

/// Where handlers without an executor of their own run: the client's callback thread.
class callback_executor {
 public:
  explicit callback_executor(std::shared_ptr<engine> e) noexcept : engine_(std::move(e)) {}

  template <class F>
  void execute(F&& f) const {
    callback<void()> fn = std::forward<F>(f);
    if (run_user_code(engine_, fn)) {
      return;
    }
    const auto kept = std::make_shared<callback<void()>>(std::move(fn));
    try {
      boost::asio::post(boost::asio::system_executor{}, [kept] { (*kept)(); });
    } catch (const std::exception&) {  // no thread to be had in the whole process: better here than never
      (*kept)();
    }
  }

  /// It never runs anything inside execute().
  [[nodiscard]] callback_executor require(boost::asio::execution::blocking_t::never_t) const { return *this; }

  friend bool operator==(const callback_executor& a, const callback_executor& b) noexcept {
    return a.engine_ == b.engine_;
  }
  friend bool operator!=(const callback_executor& a, const callback_executor& b) noexcept {
    return !(a == b);
  }

 private:
  std::shared_ptr<engine> engine_;
};

/// Joins a cancellation slot, which must be filled before the operation starts, because its handler may run and be
/// gone before that call returns, with what cancels the operation, which is known only afterwards.
class cancel_switch {
 public:
  void flip();
  void wire(callback<void()> cancel);

 private:
  std::mutex mutex_;
  bool flipped_ = false;
  callback<void()> cancel_;
};

/// As asio::post, also for the executor of an any_completion_handler, which does not say whether it runs `f` inside
/// execute(): on the callback thread it cannot be inside the initiating call.
template <class Executor, class F>
void post_to(const Executor& executor, const std::shared_ptr<engine>& e, F&& f) {
  namespace execution = boost::asio::execution;
  if constexpr (execution::is_executor_v<Executor> &&
                !boost::asio::can_require_v<Executor, execution::blocking_t::never_t>) {
    callback_executor(e).execute(
        [executor, f = std::forward<F>(f)]() mutable { executor.execute(std::move(f)); });
  } else {
    boost::asio::post(executor, std::forward<F>(f));
  }
}

/// Wraps a handler so that it can be completed from any of our threads: it is posted to its own executor, which
/// has work until then, and never called inside the initiating function.
template <class Result, class Handler>
[[nodiscard]] callback<void(Result)> posted(const std::shared_ptr<engine>& e, Handler handler) {
  auto executor = boost::asio::get_associated_executor(handler, callback_executor(e));
  auto tracked = boost::asio::prefer(executor, boost::asio::execution::outstanding_work.tracked);
  return [tracked, e, handler = std::move(handler)](Result r) mutable {
    post_to(tracked, e, [handler = std::move(handler), r = std::move(r)]() mutable {
      if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
        slot.clear();
      }
      std::move(handler)(std::move(r));
    });
  };
}

}  // namespace detail

/// Acquires as client::acquire does, without blocking. Completes with `result<lease>`.
///
/// - The handler runs on its associated executor; without one, on the client's callback thread, one after another,
///   where it may take its time. Once the client is closed there is no such thread, and handlers run on Asio's system
///   executor, perhaps at once. Never inside this call, unless the process can start no thread at all.
/// - Cancellation (any type) through the handler's cancellation slot ends it with *cancelled*.
/// - The executor must outlive the operation, as Asio wants it everywhere: before an io_context goes, cancel what
///   completes on it, or close the client, and run it until that has come.
/// - Name, options and label are copied before the call returns. The client may be closed meanwhile: *cancelled*.
///
///     asio::awaitable<void> nightly(cremone::client& locks) {
///       auto lease = co_await cremone::async_acquire(locks, "nightly", {.wait = 10s}, asio::use_awaitable);
///       if (lease) co_await work(lease->token());
///     }
template <boost::asio::completion_token_for<void(result<lease>)> Token>
auto async_acquire(const client& locks, lock_name name, const acquire_options& options, Token&& token) {
  return boost::asio::async_initiate<Token, void(result<lease>)>(
      [](auto handler, const std::shared_ptr<detail::engine>& e, const lock_name& what, acquire_options how,
         const std::string& label) {
        how.label = label;
        std::shared_ptr<detail::cancel_switch> stop;
        if (auto slot = boost::asio::get_associated_cancellation_slot(handler); slot.is_connected()) {
          stop = std::make_shared<detail::cancel_switch>();
          slot.assign([stop](boost::asio::cancellation_type) { stop->flip(); });
        }
        auto cancel =
            detail::start_acquire(e, what, how, detail::posted<result<lease>>(e, std::move(handler)));
        if (stop) {
          stop->wire(std::move(cancel));
        }
      },
      token, detail::engine_of(locks), std::move(name), options, std::string(options.label));
}

/// Gives a handle back as lease::release does, without blocking. Completes with `result<void>`.
template <boost::asio::completion_token_for<void(result<void>)> Token>
auto async_release(lease held, Token&& token) {
  return boost::asio::async_initiate<Token, void(result<void>)>(
      [](auto handler, lease given_back) {
        const auto e = detail::engine_of(given_back);
        detail::start_release(std::move(given_back), detail::posted<result<void>>(e, std::move(handler)));
      },
      token, std::move(held));
}

}  // namespace cremone
