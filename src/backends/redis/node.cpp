// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/node.hpp"

#include "backends/redis/errors.hpp"
#include "base/check.hpp"
#include "base/text.hpp"

#include <array>
#include <utility>

namespace cremone::redis {

namespace {

using fate = response::fate;

constexpr std::chrono::milliseconds rights_limit{1000};

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

}  // namespace

node::node(std::shared_ptr<env> e, std::shared_ptr<transport> net, node_settings to)
    : to_(std::move(to)), line_(std::make_shared<pipeline>(std::move(e), std::move(net), to_)) {}

void node::run(const script& s, std::span<const std::string_view> arguments, std::size_t keys,
               std::chrono::milliseconds limit, order_tag tag, callback<void(outcome)> answer) {
  line_->send(script_command("EVALSHA", s.sha, arguments, keys), limit, tag,
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

void node::command(std::span<const std::string_view> words, std::chrono::milliseconds limit,
                   callback<void(outcome)> answer) {
  std::string bytes;
  append_command(bytes, words);
  line_->send(std::move(bytes), limit, {},
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
  complaint said = understand(r.got.text, server());
  failure f{error(said.code, std::move(said.detail)), said.nothing_done};
  if (said.rights_unnamed) {
    return name_rights(std::move(answer), std::move(f), r.due);
  }
  answer(std::move(f));
}

std::string node::rights_command() const {
  const std::string trial = to_.prefix + ":classic:rights";
  const std::string fence = to_.prefix + ":classic:fence";
  const std::string channel = to_.prefix + ":classic:free:0";
  const std::array<std::string_view, 3> arguments = {trial, fence, channel};
  return script_command("EVAL", scripts().rights.text, arguments, 2);
}

std::optional<error> node::lacking(const response& r) const {
  std::string names;
  for (const reply& name : r.got.items) {
    names += " " + printable(name.text);
  }
  if (names.empty()) {
    return std::nullopt;
  }
  return error(errc::access_denied, server() + ": its ACL denies this user commands that the lock needs:" +
                                        names + "; grant them with ACL SETUSER");
}

/// Finds out which commands the ACL denies, and says so.
void node::name_rights(callback<void(outcome)> answer, failure f, instant due) {
  line_->send_again(
      rights_command(), due, {},
      [self = shared_from_this(), answer = std::move(answer), f = std::move(f)](const response& r) mutable {
        f.why = self->lacking(r).value_or(std::move(f.why));
        answer(std::move(f));
      });
}

void node::check_rights(callback<void(std::optional<error>)> answer) {
  if (to_.user.empty()) {
    return;
  }
  line_->send(rights_command(), rights_limit, {},
              [self = shared_from_this(), answer = std::move(answer)](const response& r) mutable {
                answer(self->lacking(r));
              });
}

}  // namespace cremone::redis
