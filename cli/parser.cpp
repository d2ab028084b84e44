// SPDX-License-Identifier: Apache-2.0
#include "cli/parser.hpp"

#include "base/suggest.hpp"
#include "cli/duration.hpp"
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/secrets.hpp"

#include <cremone/cremone.hpp>

#include <CLI/CLI.hpp>

#include <cstdlib>

namespace cremone::cli {

namespace {

/// CLI11's layout with our usage line: it does not know what stands behind `--`.
class teaching_formatter final : public CLI::Formatter {
 public:
  explicit teaching_formatter(const command_text& text)
      : usage_("Usage: cremone " + std::string(text.name) + " " + std::string(text.usage) + "\n") {
    column_width(32);
  }
  [[nodiscard]] std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "\n" + usage_;
  }
  [[nodiscard]] std::string make_positionals(const CLI::App* /*app*/) const override { return {}; }

 private:
  std::string usage_;
};

/// The option that somebody meant, or nothing.
std::string meant_option(const CLI::App& app, const std::string& wrong) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view near = closest(wrong.substr(0, wrong.find('=')), known);
  return near.empty() ? "" : "; did you mean " + std::string(near) + "?";
}

/// `--token=`, as a script writes it whose variable is empty.
bool is_option_without_value(const CLI::App& app, const std::string& word) {
  if (!word.starts_with("--") || word.find('=') != word.size() - 1) {
    return false;
  }
  const CLI::Option* const option = app.get_option_no_throw(word.substr(0, word.size() - 1));
  return option != nullptr && option->get_items_expected_min() > 0;
}

}  // namespace

parser::parser(const command_text& text) : app_(std::make_unique<CLI::App>()), text_(text) {
  app_->description(std::string(text.about));
  app_->footer("Examples:\n" + std::string(text.examples));
  app_->formatter(std::make_shared<teaching_formatter>(text));
  app_->allow_extras();
  app_->set_help_flag("-h,--help", "show this text");
  if (!text.of_a_store) {
    return;
  }
  app_->add_option(
          "--url", url_,
          "the store; else $CREMONE_URL, else the SQLite file of this user. Better no password in it: "
          "redis:// takes it from a file too, with password_file=FILE")
      ->type_name("URL");
  app_->add_flag("-v,--verbose", verbose_,
                 text.name == "run"
                     ? "say who is in the way, also without a terminal, and what happens to the store"
                     : "say what happens to the store, on standard error");
}

parser::~parser() = default;

void parser::add_flag(const std::string& names, bool& to, const std::string& about) {
  app_->add_flag(names, to, about);
}

void parser::add_text(const std::string& names, const std::string& value, std::string& to,
                      const std::string& about) {
  app_->add_option(names, to, about)->type_name(value);
}

void parser::add_duration(const std::string& names, const std::string& about) {
  app_->add_option(names, about)->type_name("TIME");
}

void parser::add_json() { app_->add_flag("--json", json_, "print JSON, for programs"); }

void parser::add_quiet(const std::string& about) { app_->add_flag("-q,--quiet", quiet_, about); }

void parser::add_name(std::string_view of) {
  wants_name_ = true;
  named_ = of;
  app_->add_option("name", name_, "the " + named_);
}

void parser::add_word(const std::string& value, std::string& to, const std::string& about) {
  app_->add_option(value, to, about);
}

void parser::add_url() {
  takes_url_ = true;
  app_->add_option("store", url_word_, "the store");
}

int parser::refuse(const std::string& why) const {
  complain(without_password(why));
  draw("Usage: cremone " + std::string(text_.name) + " " + std::string(text_.usage) + "\n");
  return status::usage;
}

std::optional<int> parser::parse(const arguments& given) {
  for (const std::string& word : given.words) {
    if (is_option_without_value(*app_, word)) {  // CLI11 would take the next word, which is another's
      return refuse("'" + word + "' has nothing behind it; is a variable empty?");
    }
  }
  std::vector<std::string> reversed(given.words.rbegin(), given.words.rend());  // as CLI11 wants it
  try {
    app_->parse(reversed);
  } catch (const CLI::CallForHelp&) {
    const auto printed = print(app_->help());
    return printed ? status::done : report(printed.error());
  } catch (const CLI::ParseError& failed) {
    return refuse(failed.what());
  }
  rest_ = given.after;
  if (quiet_ && (verbose_ || json_)) {
    return refuse(std::string("--quiet and ") + (json_ ? "--json" : "--verbose") +
                  " contradict each other; give only one of them");
  }
  if (!take_name_behind_dashes(given)) {
    if (const auto wrong = check_leftovers(given)) {
      return wrong;
    }
    if (wants_name_ && !was_given("name")) {
      return refuse("which " + named_ + "? The name is missing");
    }
  }
  if (!password_in(name_).empty()) {  // names are shown to everybody, and kept in the store
    return refuse("a URL with a password is no name for a " + named_ + "; put --url before it");
  }
  if (takes_url_ && was_given("store") && was_given("--url")) {
    return refuse("one URL only: with --url or without");
  }
  return std::nullopt;
}

/// A name that begins with a dash: `who -- -odd`, `run -- -odd -- COMMAND`.
bool parser::take_name_behind_dashes(const arguments& given) {
  if (!wants_name_ || was_given("name") || !app_->remaining().empty()) {
    return false;
  }
  const bool before_a_command = text_.name == "run" && rest_.size() > 1 && rest_[1] == "--";
  if (!before_a_command && (text_.name == "run" || rest_.size() != 1)) {
    return false;
  }
  name_ = given.after.front();
  rest_.erase(rest_.begin(), rest_.begin() + (before_a_command ? 2 : 1));
  return true;
}

/// What to do about an option that does not exist.
std::string parser::advice_on(const std::string& wrong) const {
  std::string meant = meant_option(*app_, wrong);
  if (!meant.empty() || !wants_name_ || was_given("name")) {
    return meant;
  }
  const std::string command = "cremone " + std::string(text_.name);
  return "; for a " + named_ + " of that name: " + command + " -- " + wrong +
         (text_.name == "run" ? " -- COMMAND" : "");
}

std::optional<int> parser::check_leftovers(const arguments& given) const {
  std::vector<std::string> left = app_->remaining();
  if (text_.name != "run") {
    left.insert(left.end(), given.after.begin(), given.after.end());
  }
  for (const std::string& word : left) {
    if (word.size() > 1 && word.front() == '-') {
      return refuse("unknown option '" + word + "' of '" + std::string(text_.name) + "'" + advice_on(word));
    }
  }
  if (left.empty()) {
    return std::nullopt;
  }
  if (text_.name == "run") {
    std::string command;
    for (const std::string& word : left) {
      command += " " + word;
    }
    return refuse(given.dashes ? "one lock's name only, and not also '" + left.front() + "'"
                               : "put -- before the command: cremone run … " + name_ + " --" + command);
  }
  return refuse("'" + left.front() + "' is one word too many");
}

result<client> parser::open_store() const {
  const bool word = takes_url_ && was_given("store");
  const bool given = word || was_given("--url");
  const char* const variable = std::getenv("CREMONE_URL");
  const std::string from_environment = variable == nullptr ? "" : variable;
  const std::string& url = word ? url_word_ : given ? url_ : from_environment;
  if (given && url.empty()) {
    // A script's variable that is not set: the default would be the wrong store, in silence.
    return error(errc::invalid_argument,
                 std::string(word ? "the URL" : "--url") + " is empty; leave it out for the default store");
  }
  if (url.starts_with("memory:")) {
    return error(
        errc::misconfigured,
        "memory:// holds within one process; a command needs a store between processes, as sqlite:// is");
  }
  open_options options;
  options.on_event = [verbose = verbose_, quiet = quiet_](const store_event& e) {
    // Two kinds are printed without --verbose too, unless --quiet is given: a lock that does not
    // exclude another program, and a try that takes longer than expected.
    const bool no_exclusion = e.what == event_kind::foreign_lock;
    const bool observing = e.what == event_kind::observing;
    if (quiet || (!verbose && !no_exclusion && !observing)) {
      return;
    }
    if (is_terminal(STDERR_FILENO)) {
      draw("\r\x1b[K");  // the line about the wait may be there; it is drawn again
    }
    const std::string subject = no_exclusion ? "warning: "
                                : observing  ? ""
                                             : std::string(to_string(e.what)) + ": ";
    complain(subject + e.message);
  };
  auto opened = open(url, std::move(options));
  if (!opened && !given && !url.empty()) {
    return error(opened.error().code(), opened.error().detail() + " (the URL is from CREMONE_URL)");
  }
  return opened;
}

bool parser::was_given(const std::string& option) const { return app_->get_option(option)->count() > 0; }

result<std::optional<std::chrono::milliseconds>> parser::duration(const std::string& option) const {
  using answer_type = std::optional<std::chrono::milliseconds>;
  if (!was_given(option)) {
    return answer_type{};
  }
  const auto parsed = parse_duration(app_->get_option(option)->results().front());
  if (!parsed) {
    return error(errc::invalid_argument, option + ": " + parsed.error().detail());
  }
  return answer_type{*parsed};
}

}  // namespace cremone::cli
