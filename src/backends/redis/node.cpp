// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/node.hpp"

#include "backends/redis/errors.hpp"
#include "backends/redis/limits.hpp"
#include "backends/redis/rights.hpp"
#include "base/check.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace cremone::redis {

namespace {

using fate = response::fate;

std::string script_command(std::string_view verb, std::string_view which,
                           std::span<const std::string_view> arguments, std::size_t keys) {
  const std::string count = std::to_string(keys);
  std::vector<std::string_view> words;
  words.reserve(arguments.size() + 3);
  words.insert(words.end(), {verb, which, count});
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::string bytes;
  append_command(bytes, words);
  return bytes;
}

/// The same command as an EVAL: the script's text in the place of its SHA-1.
std::string with_text(const std::string& evalsha, const script& s) {
  static constexpr std::string_view verb = "$7\r\nEVALSHA\r\n";
  static constexpr std::size_t sha_size = std::string_view("$40\r\n\r\n").size() + 40;
  const std::size_t at = evalsha.find(verb);
  CREMONE_CHECK(at != std::string::npos);  // we made it
  std::string eval = evalsha.substr(0, at);
  eval += "$4\r\nEVAL\r\n$" + std::to_string(s.text.size()) + "\r\n";
  eval += s.text;
  eval += "\r\n";
  eval += std::string_view(evalsha).substr(at + verb.size() + sha_size);
  return eval;
}

/// The same command with the SHA-1 of another text.
std::string with_sha(std::string evalsha, const script& s) {
  static constexpr std::string_view verb = "$7\r\nEVALSHA\r\n$40\r\n";
  const std::size_t at = evalsha.find(verb);
  CREMONE_CHECK(at != std::string::npos);  // we made it
  evalsha.replace(at + verb.size(), s.sha.size(), s.sha);
  return evalsha;
}

/// Which life of the server is this?
std::string life_question() {
  std::string question;
  append_command(question, {"INFO", "server", "replication", "commandstats"});
  return question;
}

/// The same with a last argument that says so.
std::string with_text_and_sign(const std::string& evalsha, const script& s) {
  static constexpr std::string_view sign = "-\r\n";
  CREMONE_CHECK(evalsha.ends_with(sign));
  std::string eval = with_text(evalsha, s);
  eval[eval.size() - sign.size()] = '+';
  return eval;
}

/// {'R', …}: the script was made for another life of the server.
bool of_another_life(const reply& r) {
  return r.is(reply::kind::list) && !r.items.empty() && r.items[0].is(reply::kind::text) &&
         r.items[0].text == "R";
}

std::string as_command(const std::vector<std::string>& words) {
  std::string bytes;
  append_command(bytes, std::vector<std::string_view>(words.begin(), words.end()));
  return bytes;
}

}  // namespace

node::node(std::shared_ptr<env> e, std::shared_ptr<transport> net, node_settings to)
    : env_(std::move(e)), to_(std::move(to)), line_(std::make_shared<pipeline>(env_, std::move(net), to_)) {}

void node::run(const script& s, std::span<const std::string_view> arguments, std::size_t keys,
               std::chrono::milliseconds limit, order_tag tag, callback<void(outcome)> answer) {
  std::string command = script_command("EVALSHA", s.sha, arguments, keys);
  if (&s == &scripts().release && release_unknown_.exchange(false)) {
    command = with_text(command, s);
  }
  line_->send(std::move(command), limit, tag,
              [self = shared_from_this(), &s, tag, answer = std::move(answer)](response r) mutable {
                const bool not_known =
                    r.what == fate::answered && r.got.is(reply::kind::error) && is_noscript(r.got.text);
                if (!not_known) {
                  return self->finish(std::move(answer), std::move(r));
                }
                // It was not run, so that it may be sent again. The server keeps the text from then on.
                self->line_->send_again(with_text(r.asked, s), r.due, tag,
                                        [self, answer = std::move(answer)](response again) mutable {
                                          self->finish(std::move(answer), std::move(again));
                                        });
              });
}

std::shared_ptr<const record_book> node::book() {
  const std::lock_guard lock(mutex_);
  if (!book_) {
    book_ = std::make_shared<const record_book>(std::string(), to_.db);
  }
  return book_;
}

void node::start() {
  line_->on_change([weak = weak_from_this()](const error* why) {
    const auto self = weak.lock();
    if (self && why == nullptr) {
      self->ask_about();  // it may be another server, or have changed
      self->release_unknown_ = self->to_.layout == layout::classic;  // here the text is short
    }
    if (self && self->tell_) {
      self->tell_(why);
    }
  });
  line_->start();
}

void node::ask_about() {
  std::string question;
  append_command(question, {"INFO", "all"});
  ask_life(std::move(question), true, [](node& self, const server_facts& facts) {
    if (self.facts_) {
      self.facts_(facts);
    }
  });
}

/// Whoever sends something after this has its answer after the one to this, if there is one: the limit is longer than that of any
/// request that could follow within the time for which the life counts as known.
void node::ask_life(std::string question, bool first, void (*then)(node&, const server_facts&)) {
  const instant now = env_->now();
  line_->send(std::move(question), life_stays_known + 2 * longest_limit, {.reserved = true, .first = first},
              [weak = weak_from_this(), then](const response& r) {
                const auto self = weak.lock();
                if (!self) {
                  return;
                }
                if (r.what != fate::answered || !r.got.is(reply::kind::text)) {
                  const std::lock_guard lock(self->mutex_);
                  self->life_asked_ = instant::min();
                  return;
                }
                const server_facts facts = read_facts(parse_info(r.got.text));
                self->know(facts);
                then(*self, facts);
              });
  const std::lock_guard lock(mutex_);
  life_asked_ = now;  // only now: who sees this sends behind the question
}

/// Another life has scripts of its own. What was sent with those of the life before is asked again, or in doubt.
void node::know(const server_facts& facts) {
  if (to_.layout != layout::record || facts.run_id.empty() || facts.master_replid2.empty()) {
    return;
  }
  const std::string run = facts.run_id + "." + facts.master_replid2 + "." + std::to_string(facts.swaps);
  const std::lock_guard lock(mutex_);
  if (!book_ || book_->run() != run) {
    book_ = std::make_shared<const record_book>(run, to_.db);
  }
}

void node::run(record_script which, std::span<const std::string_view> arguments, std::size_t keys,
               std::chrono::milliseconds limit, order_tag tag, callback<void(outcome)> answer) {
  if (which == record_script::grant) {
    ask_life_now_and_then();
  }
  const auto l = std::make_shared<living>(living{which, tag, book(), 0, std::move(answer)});
  std::string command = script_command("EVALSHA", l->book->at(which).sha, arguments, keys);
  if (!l->book->run().empty()) {
    if (which == record_script::release && release_unknown_.exchange(false)) {
      return line_->send(with_text_and_sign(command, l->book->at(which)), limit, tag,
                         [self = shared_from_this(), l, asked = command](response r) {
                           r.asked = asked;
                           self->take(l, std::move(r));
                         });
    }
    return line_->send(std::move(command), limit, tag,
                       [self = shared_from_this(), l](response r) { self->take(l, std::move(r)); });
  }
  line_->send(life_question(), limit, tag,
              [self = shared_from_this(), l, asked = std::move(command)](response r) mutable {
                if (!self->learnt(*l, r)) {
                  return;
                }
                self->line_->send_again(with_sha(std::move(asked), l->book->at(l->which)), r.due, l->tag,
                                        [self, l](response again) { self->take(l, std::move(again)); });
              });
}

/// Which life it is may change under a connection that stays up. The answer to this comes before that to what is sent next, which is
/// in doubt then.
void node::ask_life_now_and_then() {
  {
    const std::lock_guard lock(mutex_);
    const bool known = life_asked_ != instant::min() && env_->now() - life_asked_ < life_stays_known;
    if (known || !book_ || book_->run().empty()) {
      return;
    }
  }
  ask_life(life_question(), false, [](node&, const server_facts&) {});
}

/// The answer to an EVALSHA. Not known: it was not run, so that it may be sent again.
void node::take(const std::shared_ptr<living>& l, response&& r) {
  if (r.what == fate::answered && r.got.is(reply::kind::error)) {
    const std::lock_guard lock(mutex_);
    life_asked_ = instant::min();  // a replica, or one that loads its data: is it the same when it is back?
  }
  if (r.what != fate::answered || !r.got.is(reply::kind::error) || !is_noscript(r.got.text)) {
    if (r.what == fate::answered && of_another_life(r.got)) {
      return learn(l, std::move(r.asked), r.due);
    }
    if (r.what == fate::answered && !r.got.is(reply::kind::error) && book() != l->book) {
      // It waited for a connection, and the server has followed another meanwhile: what it says may be from before.
      return l->answer(
          failure{{errc::outcome_unknown, server() + " may have forgotten while this was under way"}, false});
    }
    return finish(std::move(l->answer), std::move(r));
  }
  if (l->which == record_script::grant) {
    release_unknown_ = true;  // who does not know the one does not know the other
  }
  if (const auto known = book(); known != l->book) {  // somebody has asked meanwhile
    l->book = known;
    return send_text(l, r.asked, r.due);
  }
  learn(l, std::move(r.asked), r.due);
}

/// Which life of the server is this? On the connection on which the script then goes.
void node::learn(const std::shared_ptr<living>& l, std::string asked, instant due) {
  constexpr int most_lives = 3;
  if (++l->lives > most_lives) {
    return l->answer(failure{{errc::unreachable, server() + " restarts again and again"}, true});
  }
  line_->send_again(life_question(), due, l->tag,
                    [self = shared_from_this(), l, asked = std::move(asked), due](response r) {
                      if (self->learnt(*l, r)) {
                        self->send_text(l, asked, due);
                      }
                    });
}

/// Takes the answer to the question; answers the request if there is none.
bool node::learnt(living& l, response& r) {
  if (r.what != fate::answered || r.got.is(reply::kind::error)) {
    if (r.what == fate::no_answer) {  // only the question was sent, of which nothing can be in doubt
      r.what = fate::not_sent;
      r.why = r.why == errc::outcome_unknown ? error(errc::unreachable, r.why.detail()) : r.why;
    }
    finish(std::move(l.answer), std::move(r));
    return false;
  }
  const server_facts facts = read_facts(parse_info(r.got.text));
  know(facts);
  if (facts.run_id.empty() || facts.master_replid2.empty()) {
    l.answer(
        failure{{errc::protocol_error, server() + " does not tell its run id and its replication id"}, true});
    return false;
  }
  l.book = book();
  const std::lock_guard lock(mutex_);
  life_asked_ = env_->now();
  return true;
}

/// The server keeps the text from then on.
void node::send_text(const std::shared_ptr<living>& l, const std::string& asked, instant due) {
  line_->send_again(with_text_and_sign(asked, l->book->at(l->which)), due, l->tag,
                    [self = shared_from_this(), l, asked](response r) {
                      r.asked = asked;  // should it have to be sent once more
                      self->take(l, std::move(r));
                    });
}

void node::command(std::span<const std::string_view> words, std::chrono::milliseconds limit, order_tag tag,
                   callback<void(outcome)> answer) {
  std::string bytes;
  append_command(bytes, words);
  line_->send(std::move(bytes), limit, tag,
              [self = shared_from_this(), answer = std::move(answer)](response r) mutable {
                self->finish(std::move(answer), std::move(r));
              });
}

void node::decline(error why, callback<void(outcome)> answer) {
  line_->decline(std::move(why), [answer = std::move(answer)](response r) mutable {
    answer(failure{std::move(r.why), true});
  });
}

void node::finish(callback<void(outcome)> answer, response&& r) {
  if (r.what != fate::answered) {
    return answer(failure{std::move(r.why), r.what == fate::not_sent});
  }
  if (!r.got.is(reply::kind::error)) {
    return answer(std::move(r.got));
  }
  complaint said = understand(r.got.text, server(), to_);
  failure f{error(said.code, std::move(said.detail)), said.nothing_done, std::move(said.lacks)};
  if (said.rights_unnamed) {
    return name_rights(std::move(answer), std::move(f), r.due);
  }
  answer(std::move(f));
}

std::vector<std::string> node::rights_words() const {
  if (to_.layout == layout::record) {
    const std::string trial = to_.prefix + ":trial:";
    return {"EVAL",      std::string(record_rights().text),
            "4",         to_.prefix + ":boot",
            trial + "1", trial + "2",
            trial + "3", to_.prefix + (to_.voters > 1 ? ":free:0" : ":wake:")};
  }
  const std::string own = to_.prefix + ":classic:";
  return {"EVAL", std::string(scripts().rights.text), "2", own + "rights", own + "fence", own + "free:0"};
}

std::optional<error> node::lacking(const response& r) const {
  if (r.got.items.empty()) {
    return std::nullopt;
  }
  std::vector<std::string> rights;
  std::transform(r.got.items.begin(), r.got.items.end(), std::back_inserter(rights),
                 [](const reply& right) { return right.text; });
  return error(errc::access_denied, lacking_text(server(), to_, rights));
}

/// Finds out which commands the ACL denies, and says so.
void node::name_rights(callback<void(outcome)> answer, failure f, instant due) {
  line_->send_again(
      as_command(rights_words()), due, {},
      [self = shared_from_this(), answer = std::move(answer), f = std::move(f)](const response& r) mutable {
        f.why = self->lacking(r).value_or(std::move(f.why));
        answer(std::move(f));
      });
}

void node::check_rights(callback<void(std::optional<error>)> answer) {
  if (to_.user.empty()) {
    return;
  }
  line_->send(as_command(rights_words()), longest_limit, {.first = true},
              [self = shared_from_this(), answer = std::move(answer)](const response& r) mutable {
                answer(self->lacking(r));
              });
}

}  // namespace cremone::redis
