// SPDX-License-Identifier: Apache-2.0
//
// One command's words, taken apart by CLI11: what all commands share, help that teaches, and for a wrong option the
// one that was meant. What a command does with its options is its own affair.
#pragma once

#include <cremone/client.hpp>
#include <cremone/result.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
};

/// Threads: one. Lives as long as the options that were bound to `app()`.
class parser {
 public:
  explicit parser(const command_text& text);

  [[nodiscard]] CLI::App& app() noexcept { return app_; }

  void add_json();
  /// The lock's name, which must be there: parse() sees to it.
  void add_name();

  /// Takes the words apart. A status means that this is the end: help was asked for and printed, or something is
  /// wrong and was complained about.
  [[nodiscard]] std::optional<int> parse(const arguments& given);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool json() const noexcept { return json_; }

  /// Opens the store of --url, of CREMONE_URL, or the default one.
  [[nodiscard]] result<client> open_store() const;

 private:
  [[nodiscard]] std::optional<int> check_leftovers(const arguments& given) const;
  [[nodiscard]] int refuse(const std::string& why) const;

  CLI::App app_;
  command_text text_;
  std::string url_;
  std::string name_;
  bool json_ = false;
  bool wants_name_ = false;
};

/// `--option VALUE` of `app` as a length of time; nothing when the option was not given.
[[nodiscard]] result<std::optional<std::chrono::milliseconds>> duration_option(const CLI::App& app,
                                                                               const std::string& option);

}  // namespace cremone::cli
