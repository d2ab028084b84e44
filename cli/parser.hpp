// SPDX-License-Identifier: Apache-2.0
//
// One command's words, taken apart by CLI11: what all commands share, help that teaches, and for a wrong option the
// one that was meant. What a command does with its options is its own affair.
#pragma once

#include <cremone/client.hpp>
#include <cremone/result.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}  // namespace CLI

namespace cremone::cli {

/// What stood on the command line after the name of the command.
struct arguments {
  std::vector<std::string> words{};  ///< before `--`, global options included
  std::vector<std::string> after{};  ///< what follows `--`, untouched
  bool dashes = false;               ///< whether there was a `--`
};

/// How the process is to end: with a status, or by a signal, so that whoever waits for us sees that it was one.
struct outcome {
  int status = 0;
  int signal = 0;            ///< 0: none
  bool whole_group = false;  ///< the signal is for our process group, as if typed at the terminal
};

/// The texts of `cremone COMMAND --help`.
struct command_text {
  std::string_view name;
  std::string_view usage;  ///< what follows "cremone NAME "
  std::string_view about;
  std::string_view examples;
  bool of_a_store = true;  ///< else it has neither --url nor --verbose
};

/// Threads: one. What was bound to an option must outlive it. CLI11 itself is known to the .cpp alone: it takes a compiler
/// longer than all the rest of a command.
class parser {
 public:
  explicit parser(const command_text& text);
  parser(const parser&) = delete;
  parser& operator=(const parser&) = delete;
  ~parser();

  /// `names`: "-E,--conflict-exit-code".
  void add_flag(const std::string& names, bool& to, const std::string& about);
  /// `value`: what the help calls it, "TEXT".
  void add_text(const std::string& names, const std::string& value, std::string& to,
                const std::string& about);
  void add_duration(const std::string& names, const std::string& about);
  void add_json();
  /// Adds -q, which excludes --verbose and --json. `about`: the help text.
  void add_quiet(const std::string& about);
  /// The name of what the command is about, which must be there: parse() sees to it.
  void add_name(std::string_view of = "lock");
  /// A word that is no option, and may be missing: was_given(value) says so.
  void add_word(const std::string& value, std::string& to, const std::string& about);
  /// The store's URL may stand as a word of its own, instead of --url.
  void add_url();

  /// Takes the words apart. A status means that this is the end: help was asked for and printed, or something is
  /// wrong and was complained about.
  [[nodiscard]] std::optional<int> parse(const arguments& given);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool json() const noexcept { return json_; }
  [[nodiscard]] bool quiet() const noexcept { return quiet_; }
  /// The words behind `--`, without the name if that stood there too.
  [[nodiscard]] const std::vector<std::string>& rest() const noexcept { return rest_; }
  /// Every command of a store has --verbose.
  [[nodiscard]] bool verbose() const noexcept { return verbose_; }

  // After parse(), of an option that was added. `option`: one of its names.
  [[nodiscard]] bool was_given(const std::string& option) const;
  /// Nothing when it was not given.
  [[nodiscard]] result<std::optional<std::chrono::milliseconds>> duration(const std::string& option) const;

  /// Opens the store of --url, of CREMONE_URL, or the default one. With --verbose the store's
  /// events are printed on standard error, one line each. Without --verbose only two kinds are
  /// printed: a foreign lock, because the requested lock does not exclude it, and a try that
  /// observes a hold.
  [[nodiscard]] result<client> open_store() const;

 private:
  [[nodiscard]] bool take_name_behind_dashes(const arguments& given);
  [[nodiscard]] std::optional<int> check_leftovers(const arguments& given) const;
  [[nodiscard]] std::string advice_on(const std::string& wrong) const;
  [[nodiscard]] int refuse(const std::string& why) const;

  std::unique_ptr<CLI::App> app_;
  command_text text_;
  std::string url_;
  std::string url_word_;  // the same without --url
  std::string name_;
  std::string named_ = "lock";  // what it is the name of
  std::vector<std::string> rest_;
  bool json_ = false;
  bool quiet_ = false;
  bool verbose_ = false;
  bool wants_name_ = false;
  bool takes_url_ = false;
};

}  // namespace cremone::cli
