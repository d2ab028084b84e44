// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/examination.hpp"

#include "backends/redis/limits.hpp"
#include "backends/redis/rights.hpp"
#include "base/reading.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cremone::redis {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using kind = reply::kind;

constexpr milliseconds first_answer_limit{2'000};  // it may have to connect first

/// The narrowest of these counts: the first may have waited behind others.
constexpr int times_wanted = 3;

/// Said by the server, or by nobody?
bool was_heard(const failure& f) {
  return f.why.code() != errc::unreachable && f.why.code() != errc::outcome_unknown;
}

std::optional<std::int64_t> number_in(const reply& r) {
  return r.is(kind::text) ? whole_number<std::int64_t>(r.text) : std::nullopt;
}

/// What TIME answers: seconds and microseconds.
std::optional<wall_time> time_in(const reply& r) {
  constexpr std::int64_t far_away =
      1'000'000'000'000;  // seconds: thirty thousand years, which overflow nothing
  if (!r.is(kind::list) || r.items.size() != 2) {
    return std::nullopt;
  }
  const auto seconds = number_in(r.items[0]);
  const auto micros = number_in(r.items[1]);
  if (!seconds || !micros || *seconds < 0 || *seconds > far_away || *micros < 0 || *micros > 999'999) {
    return std::nullopt;
  }
  return wall_time(std::chrono::seconds(*seconds) + microseconds(*micros));
}

/// Asks one question after the other: one request at a time, so that a round trip is only that, and no two answers meet.
class examination : public std::enable_shared_from_this<examination> {
 public:
  examination(std::shared_ptr<env> e, std::shared_ptr<node> server, examination_order order,
              callback<void(result<std::vector<finding>>)> reply)
      : env_(std::move(e)),
        node_(std::move(server)),
        order_(std::move(order)),
        reply_(std::move(reply)),
        over_(env_->now() + examination_limit) {
    seen_.quarantine = order_.quarantine;
    seen_.perhaps_unused = order_.perhaps_unused;
    questions_.push_back({{"PING"}, &examination::on_first});
    questions_.push_back({{"INFO", "all"}, &examination::on_info});
    for (const std::string_view parameter : config_parameters) {
      questions_.push_back({{"CONFIG", "GET", std::string(parameter)}, &examination::on_config});
    }
    questions_.push_back({order_.rights_command, &examination::on_rights});
    // Commands that no script can try. Nobody has a script of this digest; that the server says so shows that it would run one.
    questions_.push_back({{"EVALSHA", std::string(40, '0'), "0"}, &examination::on_evalsha});
    questions_.push_back({{"SCAN", "0", "COUNT", "1"}, &examination::on_scan});
    std::fill_n(std::back_inserter(questions_), times_wanted, question{{"TIME"}, &examination::on_time});
    std::fill_n(std::back_inserter(questions_), pings_wanted, question{{"PING"}, &examination::on_ping});
  }

  void go_on() {
    const instant now = env_->now();
    if (asked_ == questions_.size() || now >= over_) {
      return finish();
    }
    const question& next = questions_[asked_];
    const auto most = asked_ == 0 ? first_answer_limit : longest_limit;
    const auto limit = std::min(most, std::chrono::ceil<milliseconds>(over_ - now));
    const std::vector<std::string_view> words(next.words.begin(), next.words.end());
    ++asked_;
    sent_ = now;
    wall_sent_ = env_->wall_now();
    node_->command(words, limit, [self = shared_from_this(), &next, limit](outcome o) {
      const auto* f = std::get_if<failure>(&o);
      if (f != nullptr && !was_heard(*f) && limit >= longest_limit) {  // with less time it was we who gave up
        ++self->seen_.unanswered;
      }
      (self.get()->*next.take)(std::move(o));
    });
  }

 private:
  struct question {
    std::vector<std::string> words;
    void (examination::*take)(outcome&&);
  };

  /// Who does not even answer this, or does not let us in, is asked no more.
  void on_first(outcome&& o) {
    if (auto* f = std::get_if<failure>(&o)) {
      return reply_(was_heard(*f) ? std::move(f->why) : error(errc::unreachable, f->why.detail()));
    }
    go_on();
  }

  void on_info(outcome&& o) {
    const auto* r = std::get_if<reply>(&o);
    seen_.info_told = r != nullptr;
    note_refusal("INFO", o);
    if (r != nullptr && r->is(kind::text)) {
      seen_.facts = read_facts(parse_info(r->text));
    }
    go_on();
  }

  void on_config(outcome&& o) {
    const auto* r = std::get_if<reply>(&o);
    if (r == nullptr) {
      seen_.config_told = false;
      note_refusal("CONFIG", o);
    } else if (r->is(kind::list)) {
      for (std::size_t i = 0; i + 1 < r->items.size(); i += 2) {
        read_config(seen_.facts.config, r->items[i].text, r->items[i + 1].text);
      }
    }
    go_on();
  }

  void on_rights(outcome&& o) {
    const auto* r = std::get_if<reply>(&o);
    if (r == nullptr) {
      note_right("eval", std::get<failure>(o));
    } else if (r->is(kind::list)) {
      auto& denied = seen_.denied.emplace();
      std::transform(r->items.begin(), r->items.end(), std::back_inserter(denied),
                     [](const reply& name) { return name.text; });
    }
    go_on();
  }

  void on_evalsha(outcome&& o) {
    const auto* f = std::get_if<failure>(&o);
    if (f != nullptr && f->why.detail().find("NOSCRIPT") != std::string::npos) {
      return go_on();  // as it should be
    }
    on_plain("evalsha", o);
  }
  void on_scan(outcome&& o) { on_plain("scan", o); }

  void on_plain(std::string_view command, const outcome& o) {
    if (const auto* f = std::get_if<failure>(&o)) {
      note_right(command, *f);
    }
    go_on();
  }

  /// A replica, a cluster or a Sentinel refuse as well, which says nothing about the user.
  void note_right(std::string_view right, const failure& f) {
    if (!f.lacks) {
      if (seen_.rights_untold.empty()) {
        seen_.rights_untold = f.why.detail();
      }
      return;
    }
    if (!seen_.denied) {
      seen_.denied.emplace();
    }
    seen_.denied->push_back(f.lacks->empty() ? std::string(right) : *f.lacks);
  }

  void note_refusal(const std::string& command, const outcome& o) {
    if (const auto* f = std::get_if<failure>(&o)) {
      seen_.refused.try_emplace(command, refusal{f->lacks.has_value(), f->why.detail()});
    }
  }

  void on_time(outcome&& o) {
    note_refusal("TIME", o);
    const auto* r = std::get_if<reply>(&o);
    if (const auto theirs = r == nullptr ? std::nullopt : time_in(*r)) {
      const clock_offset now{*theirs - env_->wall_now(), *theirs - wall_sent_};
      if (!seen_.clock || now.most - now.least < seen_.clock->most - seen_.clock->least) {
        seen_.clock = now;
      }
    }
    go_on();
  }

  void on_ping(outcome&& o) {
    note_refusal("PING", o);
    if (std::holds_alternative<reply>(o)) {
      seen_.pings.push_back(std::chrono::duration_cast<microseconds>(env_->now() - sent_));
    }
    go_on();
  }

  void finish() {
    if (order_.among) {  // only now: the others are examined at the same time
      seen_.twin = order_.among->twin();
    }
    reply_(diagnose(purpose_of(node_->settings()), seen_));
  }

  const std::shared_ptr<env> env_;
  const std::shared_ptr<node> node_;
  const examination_order order_;
  callback<void(result<std::vector<finding>>)> reply_;
  const instant over_;
  std::vector<question> questions_;
  std::size_t asked_ = 0;
  instant sent_{};
  wall_time wall_sent_{};
  evidence seen_;
};

}  // namespace

void examine(const std::shared_ptr<env>& e, const std::shared_ptr<node>& server, examination_order order,
             callback<void(result<std::vector<finding>>)> reply) {
  std::make_shared<examination>(e, server, std::move(order), std::move(reply))->go_on();
}

}  // namespace cremone::redis
