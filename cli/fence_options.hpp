// SPDX-License-Identifier: Apache-2.0
//
// What the commands of `cremone fence` have in common: which token, and what it is shown to.
#pragma once

#include "cli/parser.hpp"
#include "fence/open.hpp"

#include <cremone/fence.hpp>
#include <cremone/fenced_file.hpp>
#include <cremone/result.hpp>

#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace cremone::cli {

/// --token N, else CREMONE_TOKEN. Must outlive the parser that it is added to.
class token_option {
 public:
  void add_to(parser& p);
  /// After parser::parse. *not_held* when there is none, *invalid_argument* when it is no token.
  [[nodiscard]] result<fence_token> read(const parser& p) const;

 private:
  std::string text_;
};

/// A path, and not the URL that somebody put in its place.
[[nodiscard]] result<fenced_file> file_named(const std::string& path);

/// A file, or a resource in a database or Redis, with its connection.
class fenced_subject {
 public:
  explicit fenced_subject(fenced_file file) : it_(std::move(file)) {}
  fenced_subject(std::unique_ptr<fence::mark_store> store, std::string name)
      : it_(in_store{std::move(store), std::move(name)}) {}

  /// "file 'report.csv'", "resource 'ledger' in PostgreSQL database 'shop'"
  [[nodiscard]] std::string shown() const;
  [[nodiscard]] result<void> check(fence_token token);
  [[nodiscard]] result<fence_token> highest();
  /// False for a path at which there is nothing.
  [[nodiscard]] bool exists() const;

  [[nodiscard]] const std::string& name() const;  ///< of the resource; a file's path
  [[nodiscard]] std::string store() const;        ///< empty for a file

 private:
  struct in_store {
    std::unique_ptr<fence::mark_store> store;
    std::string name;
  };
  std::variant<fenced_file, in_store> it_;
};

/// RESOURCE, --url, --file and --table. Must outlive the parser that it is added to.
class subject_options {
 public:
  void add_to(parser& p);
  /// After parser::parse. Connects, where a URL is given.
  [[nodiscard]] result<fenced_subject> open(const parser& p) const;

 private:
  std::string url_;
  std::string table_{fence::default_table};
  bool file_ = false;
};

/// What --url says, else CREMONE_FENCE_URL; empty for neither. *invalid_argument* for one that was given and is empty.
[[nodiscard]] result<std::string> fence_url(const parser& p, const std::string& given);

/// The error of an open() by a URL that may be from the environment, which then is said.
[[nodiscard]] error of_fence_url(const parser& p, const error& why);

}  // namespace cremone::cli
