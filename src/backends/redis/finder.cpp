// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/finder.hpp"

#include "backends/redis/errors.hpp"
#include "base/check.hpp"
#include "base/reading.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

namespace cremone::redis {

namespace {

constexpr std::size_t longest_host = 255;  // what a DNS name may have
constexpr std::string_view unknown_name = " knows no master of this name";

std::optional<std::uint16_t> port_in(const std::string& text) {
  const auto port = whole_number<std::uint16_t>(text);
  return port != 0 ? port : std::nullopt;
}

/// What more than half of them were wrong with.
errc shared_code(const std::vector<error>& troubles, std::size_t sentinels) {
  constexpr std::array lasting = {errc::misconfigured, errc::access_denied, errc::protocol_error};
  for (const errc code : lasting) {
    const auto count =
        std::count_if(troubles.begin(), troubles.end(), [&](const error& why) { return why.code() == code; });
    if (static_cast<std::size_t>(count) * 2 > sentinels) {
      return code;
    }
  }
  return errc::unreachable;
}

}  // namespace

/// The events of one connection.
class finder::line final : public connection_events {
 public:
  explicit line(std::weak_ptr<finder> of) : finder_(std::move(of)) {}

  void opened() override {
    if (const auto f = current()) {
      f->say();
    }
  }
  void received(std::string_view bytes) override {
    if (const auto f = current()) {
      f->take(bytes);
    }
  }
  void closed(const error& why) override {
    if (const auto f = current()) {
      const bool named = why.detail().find(f->asked()) != std::string::npos;
      f->failed({why.code(), (named ? "" : "sentinel " + f->asked() + ": ") + why.detail()});
    }
  }

 private:
  [[nodiscard]] std::shared_ptr<finder> current() {
    auto f = finder_.lock();
    return f && f->line_.get() == this ? f : nullptr;
  }

  const std::weak_ptr<finder> finder_;
};

finder::finder(std::shared_ptr<env> e, std::shared_ptr<transport> net, const node_settings& to)
    : env_(std::move(e)),
      net_(std::move(net)),
      ask_(to.sentinels.value_or(sentinel_settings{})),
      tls_(to.where.tls) {
  CREMONE_CHECK(!ask_.at.empty());
}

void finder::find(callback<void(const result<sighted_master>&)> answer) {
  if (closed_) {
    return;
  }
  waiting_.push_back(std::move(answer));
  if (waiting_.size() > 1) {
    return;
  }
  if (!timer_) {
    timer_ = env_->make_timer([weak = weak_from_this()] {
      if (const auto self = weak.lock(); self && self->line_) {
        self->failed({errc::unreachable, "sentinel " + self->asked() + " did not answer in time" +
                                             (self->tls_ ? "; does it speak TLS?" : "")});
      }
    });
  }
  count_ = 0;
  troubles_.clear();
  until_ = env_->now() + search_limit;
  ask_next();
}

std::string finder::asked() const { return ask_.at[(first_ + count_ - 1) % ask_.at.size()].shown(); }

void finder::ask_next() {
  const instant now = env_->now();
  if (count_ == ask_.at.size() || now >= until_) {
    return give_up();
  }
  const endpoint& next = ask_.at[(first_ + count_) % ask_.at.size()];
  ++count_;
  reader_ =
      reply_reader(ask_.password.empty() ? reply_reader::beginning::shown : reply_reader::beginning::hidden);
  admission_due_ = !ask_.password.empty();
  line_ = std::make_shared<line>(weak_from_this());
  timer_->arm(std::min(now + sentinel_limit, until_));
  connection_ = net_->open(next, line_);
}

/// All at once, one round trip.
void finder::say() {
  std::string bytes;
  if (!ask_.user.empty()) {
    append_command(bytes, {"AUTH", ask_.user, ask_.password});
  } else if (!ask_.password.empty()) {
    append_command(bytes, {"AUTH", ask_.password});
  }
  append_command(bytes, {"SENTINEL", "get-master-addr-by-name", ask_.master});
  connection_->put(bytes);
  connection_->flush();
}

void finder::take(std::string_view bytes) {
  reader_.feed(bytes);
  for (;;) {
    const auto next = reader_.next();
    if (!next) {
      return failed({next.error().code(), "sentinel " + asked() + " " + next.error().detail()});
    }
    if (!*next) {
      return;
    }
    if (admission_due_) {
      if (auto refused = admitted(**next)) {
        return failed(std::move(*refused));
      }
      admission_due_ = false;
      continue;
    }
    auto at = judge(**next);
    if (!at) {
      return failed(at.error());
    }
    sighted_master found{std::move(*at), asked()};
    first_ = (first_ + count_ - 1) % ask_.at.size();
    return finish(std::move(found));
  }
}

/// The answer to AUTH; why we are not let in, if so. It may repeat the password, and so is not quoted.
std::optional<error> finder::admitted(const reply& r) const {
  if (r.is(reply::kind::status)) {
    return std::nullopt;
  }
  if (r.is(reply::kind::error)) {
    complaint said = understand(r.text, "sentinel " + asked(), false);
    return error(said.code, std::move(said.detail));
  }
  return error(errc::protocol_error, "sentinel " + asked() + " answered AUTH with something else");
}

/// The answer to the question.
result<endpoint> finder::judge(const reply& r) const {
  const std::string who = "sentinel " + asked();
  if (r.is(reply::kind::nil)) {
    return error(errc::misconfigured, who + std::string(unknown_name));
  }
  if (r.is(reply::kind::error)) {
    if (r.text.starts_with("NOAUTH")) {
      return error(errc::access_denied,
                   who +
                       " wants a password: ?sentinel_password_file=FILE or ?sentinel_password_env=NAME, and "
                       "?sentinel_user=NAME if it has users");
    }
    if (r.text.starts_with("ERR unknown command")) {
      return error(errc::misconfigured, asked() + " is no sentinel; is it a Redis server itself?");
    }
    complaint said = understand(r.text, who);
    return error(said.code, std::move(said.detail));
  }
  const bool is_address = r.is(reply::kind::list) && r.items.size() == 2 &&
                          r.items[0].is(reply::kind::text) && r.items[1].is(reply::kind::text);
  const auto port = is_address ? port_in(r.items[1].text) : std::nullopt;
  if (!port || r.items[0].text.empty() || r.items[0].text.size() > longest_host ||
      find_control(r.items[0].text) != std::string::npos) {
    return error(errc::protocol_error, who + " answered with " + shape_of(r) + ", which is no address");
  }
  return endpoint{.host = r.items[0].text, .port = *port, .path = {}, .tls = tls_};
}

void finder::failed(error why) {
  hang_up();
  troubles_.push_back(std::move(why));
  ask_next();
}

void finder::give_up() {
  const errc code = shared_code(troubles_, ask_.at.size());
  std::string detail = "no sentinel says where the master '" + ask_.master + "' is";
  bool stranger = false;
  for (const error& why : troubles_) {
    detail += (&why == &troubles_.front() ? ": " : "; ") + why.detail();
    stranger = stranger || why.detail().ends_with(unknown_name);
  }
  const char* before = "; there was no time to ask ";
  for (; count_ < ask_.at.size(); ++count_, before = ", ") {
    detail += before + ask_.at[(first_ + count_) % ask_.at.size()].shown();
  }
  if (stranger) {
    detail += "; is the name in the URL the one behind 'sentinel monitor' in their configuration?";
  }
  first_ = (first_ + troubles_.size()) % ask_.at.size();
  finish(error(code, std::move(detail)));
}

void finder::led_astray() noexcept {
  if (waiting_.empty()) {
    first_ = (first_ + 1) % ask_.at.size();
  }
}

void finder::finish(const result<sighted_master>& found) {
  hang_up();
  for (auto& answer : std::exchange(waiting_, {})) {
    answer(found);
  }
}

void finder::hang_up() noexcept {
  timer_->disarm();
  line_.reset();
  if (const auto old = std::exchange(connection_, nullptr)) {
    old->close();
  }
}

void finder::close() noexcept {
  closed_ = true;
  waiting_.clear();
  if (timer_) {
    hang_up();
  }
}

}  // namespace cremone::redis
