// SPDX-License-Identifier: Apache-2.0
#include "cli/fence_options.hpp"

#include <sys/stat.h>

#include <cstdlib>

namespace cremone::cli {

namespace {

std::string from_environment() {
  const char* const value = std::getenv("CREMONE_FENCE_URL");
  return value == nullptr ? "" : value;
}

}  // namespace

void token_option::add_to(parser& p) {
  p.add_text("--token", "N", text_, "the token; else $CREMONE_TOKEN, which `cremone run` sets");
}

result<fence_token> token_option::read(const parser& p) const {
  if (!p.was_given("--token")) {
    return fence::token_from_environment();
  }
  auto token = fence::parse_token(text_);
  if (!token) {
    return error(token.error().code(), "--token: " + token.error().detail());
  }
  return token;
}

result<fenced_file> file_named(const std::string& path) {
  if (path.empty()) {
    return error(errc::invalid_argument, "the file's name is empty");
  }
  if (path.find("://") != std::string::npos) {
    return error(errc::invalid_argument,
                 "FILE must be a path, and this is a URL. For a resource in a database or Redis: "
                 "cremone fence check --url URL RESOURCE");
  }
  return fenced_file(path);
}

const std::string& fenced_subject::name() const {
  const auto* const file = std::get_if<fenced_file>(&it_);
  return file != nullptr ? file->path() : std::get<in_store>(it_).name;
}

std::string fenced_subject::store() const {
  const auto* const kept = std::get_if<in_store>(&it_);
  return kept != nullptr ? kept->store->name() : "";
}

std::string fenced_subject::shown() const {
  const std::string where = store();
  return where.empty() ? "file '" + name() + "'" : "resource '" + name() + "' in " + where;
}

result<void> fenced_subject::check(fence_token token) {
  if (const auto* const file = std::get_if<fenced_file>(&it_)) {
    return file->check(token);
  }
  auto& kept = std::get<in_store>(it_);
  return kept.store->check(kept.name, token);
}

result<fence_token> fenced_subject::highest() {
  if (const auto* const file = std::get_if<fenced_file>(&it_)) {
    return file->highest();
  }
  auto& kept = std::get<in_store>(it_);
  return kept.store->highest(kept.name);
}

bool fenced_subject::exists() const {
  struct stat found {};
  const auto* const file = std::get_if<fenced_file>(&it_);
  return file == nullptr || ::stat(file->path().c_str(), &found) == 0;
}

void subject_options::add_to(parser& p) {
  p.add_name("resource");
  p.add_text(
      "--url", "URL", url_,
      "RESOURCE is a name in this database or Redis, and no file; else $CREMONE_FENCE_URL. sqlite:///PATH, "
      "postgres://… (as libpq reads it, with PGPASSWORD and ~/.pgpass), "
      "mariadb://USER@HOST/DATABASE?password_file=FILE (or MYSQL_PWD), redis://HOST?password_file=FILE "
      "(rediss:// for TLS)");
  p.add_flag("--file", file_, "RESOURCE is a file, although $CREMONE_FENCE_URL is set");
  p.add_text("--table", "NAME", table_,
             "the table in the database (default: " + std::string(fence::default_table) + ")");
}

result<fenced_subject> subject_options::open(const parser& p) const {
  if (file_ && p.was_given("--url")) {
    return error(errc::invalid_argument, "--file and --url: either a file, or a resource behind a URL");
  }
  const auto url = file_ ? result<std::string>("") : fence_url(p, url_);
  if (!url) {
    return url.error();
  }
  if (url->empty()) {
    if (p.was_given("--table")) {
      return error(errc::invalid_argument,
                   "--table: a file has no tables; for a resource in a database give --url URL");
    }
    auto file = file_named(p.name());
    return file ? result<fenced_subject>(fenced_subject(std::move(*file))) : file.error();
  }
  if (const auto fine = fence::check_resource(p.name()); !fine) {
    return fine.error();
  }
  auto store = fence::open_marks(*url, {.table = table_});
  if (!store) {
    return of_fence_url(p, store.error());
  }
  return fenced_subject(std::move(*store), p.name());
}

result<std::string> fence_url(const parser& p, const std::string& given) {
  if (!p.was_given("--url")) {
    return from_environment();
  }
  if (given.empty()) {  // a script's variable that is not set: a file would be the wrong thing, in silence
    return error(errc::invalid_argument, "--url is empty; leave it out if RESOURCE is a file");
  }
  return given;
}

error of_fence_url(const parser& p, const error& why) {
  return p.was_given("--url") ? why
                              : error(why.code(), why.detail() + " (the URL is from CREMONE_FENCE_URL)");
}

}  // namespace cremone::cli
