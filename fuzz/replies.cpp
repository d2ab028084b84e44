// SPDX-License-Identifier: Apache-2.0
#include "fuzz/replies.hpp"

#include "fuzz/talkative_server.hpp"

#include "backends/redis/classic.hpp"
#include "backends/redis/errors.hpp"
#include "backends/redis/record.hpp"
#include "backends/redis/value.hpp"
#include "base/check.hpp"
#include "base/resp.hpp"
#include "base/text.hpp"

#include <array>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

namespace cremone::fuzz {

namespace {

using namespace std::chrono_literals;

constexpr char separator = '\x1e';
constexpr std::chrono::seconds patience = 30s;  // longer than any limit of the backend, its list included

enum class call : std::uint8_t { acquire, wait, renew, release, force, inspect, list, read };

void check_shown(std::string_view text) { CREMONE_CHECK(find_control(text) == std::string_view::npos); }

void check(const error& why) { check_shown(why.detail()); }

void check(const hold_record& h) {
  check_shown(h.owner.host);
  check_shown(h.owner.user);
  check_shown(h.owner.label);
  check_shown(h.foreign);
  CREMONE_CHECK(!h.expires_in || *h.expires_in >= 0ms);
}

void check(const answer& a) {
  if (const auto* no = std::get_if<refused>(&a)) {
    check(no->why);
  } else if (const auto* doubt = std::get_if<unknown>(&a)) {
    check(doubt->why);
  }
}

void check(const acquire_answer& a) {
  if (const auto* yes = std::get_if<grant>(&a)) {
    CREMONE_CHECK(yes->token.value() > 0 && yes->token.value() < fence_token::limit);
  } else if (const auto* no = std::get_if<rejection>(&a)) {
    check(no->why);
    for (const hold_record& h : no->holders) {
      check(h);
    }
  } else {
    check(std::get<unknown>(a).why);
  }
}

void check(const lock_record& lock) {
  for (const hold_record& h : lock.holders) {
    check(h);
  }
}

void check(const std::vector<answer>& all) {
  for (const answer& a : all) {
    check(a);
  }
}

void check(const std::vector<lock_record>& all) {
  for (const lock_record& lock : all) {
    check(lock);
  }
}

template <class T>
void check(const result<T>& r) {
  if (r) {
    check(*r);
  } else {
    check(r.error());
  }
}

class deaf_sink final : public hint_sink {
 public:
  void hint() noexcept override {}
};

/// One call on a backend of its own, from the first connection to the last.
template <class Backend>
class conversation {
 public:
  conversation(manners m, redis::layout layout) {
    redis::node_settings to;
    to.where = {.host = "server", .port = 6379, .path = {}, .tls = {}};
    to.node = "server:6379";
    to.layout = layout;
    to.store = "redis://server:6379";
    env_ = std::make_shared<test::manual_env>();
    server_ = std::make_shared<talkative_server>(env_, std::move(m));
    backend_ = std::make_shared<Backend>(env_, server_, to, std::make_shared<const event_hub>());
    request_.name = "lock";
    request_.owner = owner_id({1, 2, 3});
    request_.ttl = 30s;
    request_.who = {.host = "here", .pid = 1, .user = "me", .label = "", .since = {}};
    request_.wake = sink_;
  }

  void hold(call which) {
    backend_->start();
    env_->run_all();
    make(which);
    env_->advance(patience);
    CREMONE_CHECK(answers_ == 1);
    backend_->close();
    env_->run_all();
    CREMONE_CHECK(answers_ == 1);
  }

 private:
  /// Takes an answer of any kind: exactly one may come.
  auto once() {
    return [this](const auto& answer) {
      ++answers_;
      check(answer);
    };
  }

  void make(call which) {
    switch (which) {
      case call::acquire: return backend_->try_acquire(request_, once());
      case call::wait: request_.join = true; return backend_->try_acquire(request_, once());
      case call::renew:
        for (renewal& item : renewals_) {
          item = {
              .name = &request_.name, .owner = request_.owner, .seq = 1, .token = fence_token(1), .ttl = 30s};
        }
        return backend_->renew(renewals_, once());
      case call::release: return backend_->release(release_, once());
      case call::force: return backend_->force(request_.name, request_.owner, once());
      case call::inspect: return backend_->inspect(request_.name, once());
      case call::list: return backend_->list(once());
      case call::read: break;
    }
  }

  std::shared_ptr<test::manual_env> env_;
  std::shared_ptr<talkative_server> server_;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<hint_sink> sink_ = std::make_shared<deaf_sink>();
  acquire_request request_;
  release_request release_{"lock", owner_id({1, 2, 3})};
  std::array<renewal, 3> renewals_{};
  int answers_ = 0;
};

/// All that is made of one reply, whoever asked.
void look_at(const redis::reply& r, std::string& seen) {
  seen += redis::shape_of(r) + "\n" + r.text + "\n";
  check_shown(redis::shape_of(r));
  const redis::complaint said = redis::understand(r.text, "server:6379");
  check_shown(said.detail);
  CREMONE_CHECK(!said.detail.empty());
  check(redis::decode_value(r.text));
  for (const redis::reply& item : r.items) {
    look_at(item, seen);
  }
}

/// Every reply in these bytes, and how they end.
std::string replies_in(std::string_view bytes, std::size_t piece) {
  redis::reply_reader reader;
  std::string seen;
  const std::size_t size = piece == 0 ? bytes.size() : piece;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    reader.feed(bytes.substr(at, size));
    for (;;) {
      const auto next = reader.next();
      if (!next) {
        check(next.error());
        const auto still = reader.next();
        CREMONE_CHECK(!still);  // and so for ever
        return seen + "garbled";
      }
      if (!*next) {
        break;
      }
      look_at(**next, seen);
    }
  }
  return seen;
}

manners manners_in(std::uint8_t first, std::string_view rest) {
  constexpr std::array<std::size_t, 8> pieces = {0, 1, 2, 3, 7, 16, 64, 1024};
  manners m{
      .greets = (first & 0x08U) == 0, .piece = pieces.at((first >> 4U) & 7U), .closes = (first & 0x80U) != 0};
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    m.parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return m;
}

}  // namespace

void answer_with(std::string_view input) {
  if (input.empty()) {
    return;
  }
  const auto first = static_cast<std::uint8_t>(input.front());
  const std::string_view rest = input.substr(1);
  const auto which = static_cast<call>(first & 7U);
  manners m = manners_in(first, rest);
  if (which == call::read) {
    CREMONE_CHECK(replies_in(rest, m.piece) == replies_in(rest, 0));
    return;
  }
  conversation<redis::classic_backend>(m, redis::layout::classic).hold(which);
  conversation<redis::record_backend>(std::move(m), redis::layout::record).hold(which);
}

}  // namespace cremone::fuzz
