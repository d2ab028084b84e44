// SPDX-License-Identifier: Apache-2.0
#include "support/distant_backend.hpp"

#include <utility>

namespace cremone::test {

namespace {

error in_doubt() { return {errc::outcome_unknown, "closed before the answer came"}; }

/// What the store inside answered, which it did before it returned.
template <class T, class Ask>
T ask_inside(Ask&& ask) {
  T got;
  std::forward<Ask>(ask)([&got](T a) { got = std::move(a); });
  return got;
}

}  // namespace

template <class T>
class distant_backend::call final : public outstanding {
 public:
  call(callback<void(T)> reply, T a, T in_doubt)
      : reply_(std::move(reply)), answer_(std::move(a)), in_doubt_(std::move(in_doubt)) {}
  void answer() override { reply_(std::move(answer_)); }
  void answer_in_doubt() override { reply_(std::move(in_doubt_)); }

 private:
  callback<void(T)> reply_;
  T answer_;
  T in_doubt_;
};

template <class T>
void distant_backend::answer_later(callback<void(T)> reply, T a, T in_doubt) {
  const auto c = std::make_shared<call<T>>(std::move(reply), std::move(a), std::move(in_doubt));
  bool closed = false;
  {
    const std::lock_guard lock(flight_->mutex);
    closed = flight_->closed;
    if (!closed) {
      flight_->calls.insert(c);
    }
  }
  if (closed) {
    return c->answer();  // there may be no executor any more
  }
  env_->post([flight = flight_, c] {
    {
      const std::lock_guard lock(flight->mutex);
      if (flight->calls.erase(c) == 0) {
        return;  // answered by close()
      }
    }
    c->answer();
  });
}

traits distant_backend::describe() const {
  traits t = inside_->describe();
  t.answers_inline = false;
  if (queue_ == queue::none) {
    t.fifo = false;
    t.hints = false;
  }
  return t;
}

void distant_backend::try_acquire(const acquire_request& request, callback<void(acquire_answer)> reply) {
  acquire_request forwarded = request;
  if (queue_ == queue::none) {
    forwarded.join = false;
  }
  answer_later<acquire_answer>(std::move(reply), ask_inside<acquire_answer>([&](auto r) {
                                 inside_->try_acquire(forwarded, std::move(r));
                               }),
                               unknown{in_doubt()});
}

void distant_backend::renew(std::span<const renewal> items, callback<void(std::vector<answer>)> reply) {
  using answers = std::vector<answer>;
  answer_later<answers>(std::move(reply),
                        ask_inside<answers>([&](auto r) { inside_->renew(items, std::move(r)); }),
                        answers(items.size(), unknown{in_doubt()}));
}

void distant_backend::release(const release_request& request, callback<void(answer)> reply) {
  answer_later<answer>(std::move(reply),
                       ask_inside<answer>([&](auto r) { inside_->release(request, std::move(r)); }),
                       unknown{in_doubt()});
}

void distant_backend::evict(const lock_name& name, const hold_version& version,
                            callback<void(answer)> reply) {
  answer_later<answer>(std::move(reply),
                       ask_inside<answer>([&](auto r) { inside_->evict(name, version, std::move(r)); }),
                       unknown{in_doubt()});
}

void distant_backend::force(const lock_name& name, const owner_id& holder, callback<void(answer)> reply) {
  answer_later<answer>(std::move(reply),
                       ask_inside<answer>([&](auto r) { inside_->force(name, holder, std::move(r)); }),
                       unknown{in_doubt()});
}

void distant_backend::inspect(const lock_name& name, callback<void(result<lock_record>)> reply) {
  using seen = result<lock_record>;
  answer_later<seen>(std::move(reply),
                     ask_inside<seen>([&](auto r) { inside_->inspect(name, std::move(r)); }), in_doubt());
}

void distant_backend::list(callback<void(result<std::vector<lock_record>>)> reply) {
  using seen = result<std::vector<lock_record>>;
  answer_later<seen>(std::move(reply), ask_inside<seen>([&](auto r) { inside_->list(std::move(r)); }),
                     in_doubt());
}

void distant_backend::close() noexcept {
  inside_->close();
  std::set<std::shared_ptr<outstanding>> calls;
  {
    const std::lock_guard lock(flight_->mutex);
    flight_->closed = true;
    calls.swap(flight_->calls);
  }
  for (const auto& c : calls) {
    c->answer_in_doubt();
  }
}

}  // namespace cremone::test
