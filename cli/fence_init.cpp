// SPDX-License-Identifier: Apache-2.0
//
// `cremone fence init URL`: makes the table that a database keeps its marks in, or shows how.
#include "cli/exit_codes.hpp"
#include "cli/fence_commands.hpp"
#include "cli/fence_json.hpp"
#include "cli/fence_options.hpp"
#include "cli/output.hpp"

#include <sys/stat.h>

#include <optional>

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "fence init", "[OPTIONS] [URL]",
    "Makes the table that a database keeps the tokens in: one row for each resource. A table that is there "
    "and fits is left\n"
    "as it is, and one of another shape is complained about, with 78. With --print nothing is done and "
    "nobody is asked: the\n"
    "statement is printed, for those who make their tables by other means. Files and Redis need nothing.",
    "  cremone fence init postgres://app@db/shop\n"
    "  cremone fence init --print mariadb://localhost/shop | mariadb shop\n"
    "  cremone fence init sqlite:///srv/shop.db --table fences",
    false};

struct init_line {
  std::string word{};
  std::string url{};
  std::string table{fence::default_table};
  bool print = false;
};

bool is_file(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

/// postgres:/db/shop is a URL with a mistake in it, and no file.
bool begins_like_url(std::string_view word) {
  const auto end = word.find(":/");
  return end != std::string_view::npos && word.substr(0, end).find('/') == std::string_view::npos;
}

/// What has an '@' may be a URL with a password in it, whatever else is wrong with it.
error neither_url_nor_file(const std::string& word) {
  const std::string what = word.find('@') == std::string::npos ? "'" + word + "'" : "this";
  return {errc::invalid_argument, what +
                                      " is neither a URL nor a file that is there; a URL looks like "
                                      "scheme://…, for example postgres://app@db/shop"};
}

result<std::string> url_of(const parser& p, const init_line& line) {
  if (p.was_given("URL") && p.was_given("--url")) {
    return error(errc::invalid_argument, "one URL only: with --url or without");
  }
  auto url = p.was_given("URL") ? result<std::string>(line.word) : fence_url(p, line.url);
  if (url && url->empty()) {
    return error(errc::invalid_argument,
                 "which database? Give its URL, as in cremone fence init postgres://app@db/shop");
  }
  return url;
}

error of_url(const parser& p, const error& why) { return p.was_given("URL") ? why : of_fence_url(p, why); }

int say(const std::string& what) {
  const auto printed = print(what);
  return printed ? status::done : report(printed.error());
}

int say_nothing_needed(bool json, const std::string& table, const std::string& why) {
  return say(json ? init_json("", table, std::nullopt, false) : why + "\n");
}

std::string with_semicolon(const std::string& statement) {
  return statement + (statement.ends_with(';') ? "\n" : ";\n");
}

int make(const parser& p, const init_line& line, const std::string& url, const std::string& statement) {
  const auto store = fence::open_marks(url, {.table = line.table, .make_file = true});
  if (!store) {
    return report(of_url(p, store.error()));
  }
  if (const auto made = (*store)->create(); !made) {
    return report(made.error());
  }
  return say(p.json() ? init_json((*store)->name(), line.table, statement, true)
                      : "Table '" + line.table + "' is ready in " + (*store)->name() + ".\n");
}

}  // namespace

outcome fence_init_command(const arguments& given) {
  parser p(text);
  init_line line;
  p.add_text("--url", "URL", line.url, "the same as URL; else $CREMONE_FENCE_URL");
  p.add_text("--table", "NAME", line.table,
             "the table's name (default: " + std::string(fence::default_table) + ")");
  p.add_flag("--print", line.print, "print the statement and do nothing");
  p.add_json();
  p.add_word("URL", line.word, "the database");
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  const auto url = url_of(p, line);
  if (!url) {
    return {.status = report(url.error())};
  }
  if (p.was_given("URL") && url->find("://") == std::string::npos) {
    if (begins_like_url(*url) || !is_file(*url)) {
      return {.status = report(neither_url_nor_file(*url))};
    }
    return {.status = say_nothing_needed(
                p.json(), line.table,
                "Nothing is needed for a file: '" + *url + ".fence' is made beside it by the first write.")};
  }
  const auto statement = fence::needed_statement(*url, line.table);
  if (!statement) {
    return {.status = report(of_url(p, statement.error()))};
  }
  if (!*statement) {
    return {.status = say_nothing_needed(p.json(), line.table,
                                         "Nothing is needed for Redis: a resource's key is made by the first "
                                         "write or check.")};
  }
  if (line.print) {
    return {.status =
                say(p.json() ? init_json("", line.table, *statement, false) : with_semicolon(**statement))};
  }
  return {.status = make(p, line, *url, **statement)};
}

}  // namespace cremone::cli
