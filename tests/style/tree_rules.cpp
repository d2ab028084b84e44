// SPDX-License-Identifier: Apache-2.0
//
// The rules of this tree as tables, and the little machinery that applies them to one file. To add a rule is
// to add a row. How C++ text is taken apart is the business of source_text, not of this file.
#include "style/tree_rules.hpp"

#include "style/source_text.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace cremone::style {
namespace {

using names = std::vector<std::string_view>;

// ---- the tables -------------------------------------------------------------------------------------------

// Includes are written as in the source, with their delimiters. `*` stands for anything, `@name` for a group,
// `@std` for the standard library's headers, `{own}` for the backend's own folder.
struct include_group {
  std::string_view name;
  names patterns;
};

const std::vector<include_group>& include_groups() {
  static const std::vector<include_group> table = {
      {"@vocabulary",
       {"<cremone/types.hpp>", "<cremone/result.hpp>", "<cremone/callback.hpp>", "<cremone/options.hpp>",
        "<cremone/event.hpp>", "<cremone/finding.hpp>"}},
      {"@layers",
       {"\"base/*\"", "\"core/*\"", "\"engine/*\"", "\"backends/*\"", "\"fence/*\"", "\"open/*\""}},
      {"@fence", {"\"fence/*\"", "\"base/*\"", "@std", "@os", "@vocabulary", "<cremone/fence*>"}},
      {"@os",
       {"<arpa/*>",   "<linux/*>",   "<net/*>",    "<netinet/*>", "<sys/*>",   "<dirent.h>", "<dlfcn.h>",
        "<errno.h>",  "<fcntl.h>",   "<grp.h>",    "<limits.h>",  "<netdb.h>", "<poll.h>",   "<pthread.h>",
        "<pwd.h>",    "<sched.h>",   "<signal.h>", "<spawn.h>",   "<stdio.h>", "<stdlib.h>", "<string.h>",
        "<syslog.h>", "<termios.h>", "<time.h>",   "<unistd.h>"}},
  };
  return table;
}

// The direction of includes. The first row whose folder holds the file counts. Within a row the longest
// matching pattern decides; where two are equally long, and where none matches, the answer is no.
struct include_rule {
  std::string_view folder;
  names allowed;
  names refused;
  std::string_view why;
};

const std::vector<include_rule>& include_rules() {
  static constexpr std::string_view fence_rule =
      "the fence trusts no client: it knows base, its own folder and the words of tokens; a database's C "
      "library is known to "
      "one file, and to the one that opens it for the tool";
  static const std::vector<include_rule> table = {
      {"include/cremone/async.hpp",
       {"<cremone/*>", "@std", "<boost/system/*>", "<boost/asio/*>"},
       {},
       "the asynchronous face shows Asio, and nothing of Boost beyond it and Boost.System"},
      {"include/cremone/",
       {"<cremone/*>", "@std", "<boost/system/*>"},
       {},
       "an installed header stands on the standard library and Boost.System; only async.hpp shows Asio"},
      {"src/base/sha1.cpp",
       {"\"base/*\"", "@std", "@vocabulary", "<openssl/*>"},
       {},
       "OpenSSL computes digests; in base only this file and TLS include it"},
      {"src/base/tls_session.cpp",
       {"\"base/*\"", "@std", "@vocabulary", "<openssl/*>"},
       {},
       "TLS is OpenSSL's, between buffers: this file has no socket"},
      {"src/base/resp.cpp",
       {"\"base/*\"", "@std", "@vocabulary", "<hiredis/read.h>"},
       {},
       "base uses hiredis only to parse replies"},
      {"src/base/",
       {"\"base/*\"", "@std", "@os", "@vocabulary"},
       {},
       "base is the bottom: it knows the vocabulary headers and nobody above it"},
      {"src/core/",
       {"\"core/*\"", "\"base/*\"", "@std", "@vocabulary", "<cremone/record.hpp>"},
       {"\"base/env.hpp\"", "<thread>", "<mutex>", "<condition_variable>", "<atomic>", "<future>",
        "<fstream>", "<iostream>"},
       "core decides and does nothing: no clock, no thread, no I/O, no backend"},
      {"src/engine/",
       {"\"engine/*\"", "\"core/*\"", "\"base/*\"", "@std", "@os", "<cremone/*>", "<boost/*>"},
       {},
       "the engine reaches a backend only through <cremone/backend.hpp>"},
      {"src/backends/",
       {"\"backends/{own}/*\"", "\"base/*\"", "<*>", "<cremone/backend.hpp>", "@vocabulary",
        "<cremone/record.hpp>"},
       {"<cremone/*>"},
       "a backend knows the seam, base and its own folder; no lock policy, no other backend"},
      {"src/fence/sqlite.cpp", {"@fence", "<sqlite3.h>"}, {}, fence_rule},
      {"src/fence/postgres.cpp", {"@fence", "<libpq-fe.h>"}, {}, fence_rule},
      {"src/fence/mariadb.cpp", {"@fence", "<mysql.h>", "<errmsg.h>", "<mysqld_error.h>"}, {}, fence_rule},
      {"src/fence/redis.cpp", {"@fence", "<hiredis/*>"}, {}, fence_rule},
      {"src/fence/open_sqlite.cpp", {"@fence", "<sqlite3.h>"}, {}, fence_rule},
      {"src/fence/open_postgres.cpp", {"@fence", "<libpq-fe.h>"}, {}, fence_rule},
      {"src/fence/open_mariadb.cpp",
       {"@fence", "<mysql.h>", "<errmsg.h>", "<mysqld_error.h>"},
       {},
       fence_rule},
      {"src/fence/open_redis.cpp",
       {"@fence", "\"backends/redis/settings.hpp\""},
       {},
       "one URL does for locks and for what they protect: it is read by one file"},
      {"src/fence/", {"@fence"}, {}, fence_rule},
      {"cli/fence",
       {"\"cli/*\"", "\"base/*\"", "@std", "@os", "<cremone/*>", "<nlohmann/*>", "\"fence/open.hpp\""},
       {"\"base/env.hpp\"", "<cremone/backend.hpp>"},
       "`cremone fence` opens what a URL names; how is the fence's"},
      {"cli/sim",
       {"\"cli/*\"", "\"base/*\"", "@std", "@os", "<cremone/*>", "<nlohmann/*>", "\"sim/schedule.hpp\"",
        "\"sim/swarm.hpp\"", "\"sim/faults.hpp\"", "\"sim/redis/lua.hpp\""},
       {"\"base/env.hpp\"", "<cremone/backend.hpp>"},
       "`cremone sim` orders schedules and reads their results; how they are made is the simulator's"},
      {"cli/",
       {"\"cli/*\"", "\"base/*\"", "@std", "@os", "<cremone/*>", "<CLI/*>", "<nlohmann/*>"},
       {"\"base/env.hpp\"", "<cremone/backend.hpp>", "<boost/*>"},
       "the tool is a user of the library: installed headers, leaf helpers, CLI11 and JSON"},
      {"sim/redis/lua",
       {"\"sim/redis/*\"", "\"backends/redis/digest.hpp\"", "@std", "<lua5.1/lua.hpp>"},
       {},
       "Lua is known to these few files of the simulator, and they know neither commands nor a client"},
      {"sim/",
       {"\"sim/*\"", "@layers", "@std", "<cremone/*>"},
       {},
       "the simulator stands on the library's layers; Lua is behind sim/redis/lua.hpp"},
      {"src/open/", {"@layers", "<*>"}, {}, "project headers are spelled \"layer/file.hpp\", from src/ down"},
  };
  return table;
}

// How an include is spelled, wherever it stands.
struct spelling_rule {
  std::string_view pattern;
  std::string_view why;
};

const std::vector<spelling_rule>& spelling_rules() {
  static constexpr std::string_view quoted = "a header of ours is spelled \"layer/file.hpp\", in quotes";
  static const std::vector<spelling_rule> table = {
      {"*../*", "a path that climbs breaks when its file moves; name the header from src/ down"},
      {"\"./*", "name the header from src/ down"},
      {"\"cremone/*", "an installed header is spelled <cremone/file.hpp>, as its users spell it"},
      {"<base/*", quoted},
      {"<core/*", quoted},
      {"<engine/*", quoted},
      {"<backends/*", quoted},
      {"<fence/*", quoted},
      {"<open/*", quoted},
      {"<cli/*", quoted},
      {"<sim/*", quoted},
  };
  return table;
}

// Words that may not stand in code. A phrase is a row of words with blanks between them; `*` in a word stands
// for anything, and `!` before it for any other word.
struct word_rule {
  std::string_view name;
  names phrases;
  names folders;
  names except;
  std::string_view why;
};

const std::vector<word_rule>& word_rules() {
  static const names layers = {"src/base/", "src/core/", "src/engine/", "src/backends/", "sim/"};
  static const std::vector<word_rule> table = {
      {"no clock",
       {"*clock :: now (", "clock_gettime (", "gettimeofday (", "timespec_get ("},
       layers,
       {"src/engine/validity_clock.cpp", "src/engine/asio_env.cpp", "src/engine/asio_env.hpp",
        "src/backends/sqlite/patience.cpp"},
       "the time is handed in, so that a test or the simulator can hand in another"},
      {"no thread",
       {"std :: thread !::", "std :: jthread !::"},
       layers,
       {"src/engine/loop_thread.hpp", "src/engine/loop_thread.cpp", "src/base/addresses.cpp",
        "src/backends/sqlite/listener.cpp", "sim/swarm.cpp"},
       "all work runs on the executor; one class starts threads (std::thread::id starts none), two where a "
       "futex, or an answer about a name, can be waited for in no other way, and the swarm of the simulator, "
       "of "
       "which each world has one"},
      {"no randomness",
       {"rand (", "srand (", "mt19937*", "random_device"},
       layers,
       {},
       "randomness comes from the environment, so that a seed replays a run"},
      {"no sleep",
       {"sleep_for", "this_thread :: sleep_until", "usleep", "nanosleep"},
       {"src/", "cli/", "sim/", "tests/unit/"},
       {"src/backends/sqlite/patience.cpp"},
       "waiting is a timer that can be cancelled, and in a unit test virtual time"},
      {"no coroutine",
       {"co_await", "co_return", "co_yield"},
       {"src/", "include/"},
       {},
       "GCC 12 destroys temporaries twice inside co_await expressions"},
  };
  return table;
}

// What holds for a file as a whole: the number of the line that breaks the rule, if one does.
struct source {
  std::string_view text;
  std::string_view code;  // stripped of comments and literals
};

constexpr std::string_view spdx_line = "// SPDX-License-Identifier: Apache-2.0";
constexpr std::size_t max_lines = 500;

std::optional<std::size_t> lacks_spdx_line(const source& file);
std::optional<std::size_t> lacks_pragma_once(const source& file);
std::optional<std::size_t> is_too_long(const source& file);

struct file_rule {
  std::string_view name;
  names folders;
  std::string_view ending;
  std::optional<std::size_t> (*broken_at)(const source&);
  std::string_view why;
};

const std::vector<file_rule>& file_rules() {
  static const std::vector<file_rule> table = {
      {"license line", checked_folders(), "", lacks_spdx_line,
       "the first line is: // SPDX-License-Identifier: Apache-2.0"},
      {"include guard", checked_folders(), ".hpp", lacks_pragma_once, "a header has a line: #pragma once"},
      {"file length",
       {"include/", "src/", "cli/", "sim/"},
       "",
       is_too_long,
       "a file over 500 lines does more than one thing; split it"},
  };
  return table;
}

// ---- applying the tables ----------------------------------------------------------------------------------

bool glob_matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() != '*') {
    return !text.empty() && pattern.front() == text.front() &&
           glob_matches(pattern.substr(1), text.substr(1));
  }
  for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
    if (glob_matches(pattern.substr(1), text.substr(skipped))) return true;
  }
  return false;
}

bool is_under(std::string_view path, const names& folders) {
  return std::any_of(folders.begin(), folders.end(), [&](auto folder) { return path.starts_with(folder); });
}

bool is_one_of(std::string_view path, const names& paths) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

// The folder under the rule's folder in which the file lies: the backend's name, for a backend.
std::string own_folder(std::string_view path, std::string_view folder) {
  const std::string_view below = path.substr(folder.size());
  return std::string(below.substr(0, below.find('/')));
}

std::string expand_own(std::string_view pattern, std::string_view own) {
  constexpr std::string_view placeholder = "{own}";
  std::string expanded(pattern);
  if (const auto at = expanded.find(placeholder); at != std::string::npos) {
    expanded.replace(at, placeholder.size(), own);
  }
  return expanded;
}

// Nobody else's headers have neither a folder nor an ending.
bool is_standard_header(std::string_view include) {
  return include.starts_with('<') && include.find_first_of("./") == std::string_view::npos;
}

// The length of the longest pattern that matches the include, 0 if none does.
std::size_t best_match(const names& patterns, std::string_view own, std::string_view include) {
  std::size_t best = 0;
  for (const auto pattern : patterns) {
    if (pattern == "@std" && is_standard_header(include)) best = std::max(best, include.size());
    for (const auto& group : include_groups()) {
      if (group.name == pattern) best = std::max(best, best_match(group.patterns, own, include));
    }
    const std::string expanded = expand_own(pattern, own);
    if (glob_matches(expanded, include)) best = std::max(best, expanded.size());
  }
  return best;
}

class checker {
 public:
  checker(std::string_view path, std::string_view text) : path_(path), text_(text), stripped_(strip(text)) {}

  std::vector<violation> run() {
    check_file_rules();
    check_includes();
    check_words();
    return std::move(found_);
  }

 private:
  void report(std::size_t line, std::string_view rule, std::string why) {
    found_.push_back({std::string(path_), line, std::string(rule), std::move(why)});
  }

  void check_file_rules() {
    for (const auto& rule : file_rules()) {
      if (!is_under(path_, rule.folders) || !path_.ends_with(rule.ending)) continue;
      const auto line = rule.broken_at({text_, stripped_.code});
      if (line) report(*line, rule.name, std::string(rule.why));
    }
  }

  // An include is recognised in the code, so that one inside a literal does not count, and read from the text
  // that still has its quoted name.
  void check_includes() {
    const bool in_library = is_under(path_, {"include/", "src/", "cli/", "sim/"});
    const auto& table = include_rules();
    const auto row = std::find_if(table.begin(), table.end(),
                                  [&](const auto& rule) { return path_.starts_with(rule.folder); });
    if (in_library && row == table.end()) {
      report(1, "include direction", "no row of the include table covers this folder; add one");
    }
    const auto code = split_lines(stripped_.code);
    const auto lines = split_lines(stripped_.without_comments);
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (!after_directive(code[i], "include")) continue;
      const std::string_view include = *after_directive(lines[i], "include");
      check_spelling(i + 1, include);
      if (row != table.end()) check_direction(i + 1, include, *row);
    }
  }

  void check_spelling(std::size_t line, std::string_view include) {
    for (const auto& rule : spelling_rules()) {
      if (glob_matches(rule.pattern, include)) {
        report(line, "include spelling", std::string(include) + ": " + std::string(rule.why));
        return;
      }
    }
  }

  void check_direction(std::size_t line, std::string_view include, const include_rule& rule) {
    const std::string own = own_folder(path_, rule.folder);
    if (best_match(rule.allowed, own, include) > best_match(rule.refused, own, include)) return;
    report(line, "include direction",
           std::string(include) + " may not be included here: " + std::string(rule.why));
  }

  void check_words() {
    const auto tokens = tokenize(stripped_.code);
    for (const auto& rule : word_rules()) {
      if (!is_under(path_, rule.folders) || is_one_of(path_, rule.except)) continue;
      for (const auto phrase : rule.phrases) find_phrase(tokens, rule, phrase);
    }
  }

  void find_phrase(const std::vector<token>& tokens, const word_rule& rule, std::string_view phrase) {
    const auto words = tokenize_phrase(phrase);
    const auto same = [](const token& found, std::string_view word) {
      return word.starts_with('!') ? !glob_matches(word.substr(1), found.text)
                                   : glob_matches(word, found.text);
    };
    auto at = std::search(tokens.begin(), tokens.end(), words.begin(), words.end(), same);
    while (at != tokens.end()) {
      report(at->line, rule.name, "`" + std::string(phrase) + "`: " + std::string(rule.why));
      at = std::search(at + 1, tokens.end(), words.begin(), words.end(), same);
    }
  }

  static names tokenize_phrase(std::string_view phrase) {
    names words;
    while (!phrase.empty()) {
      const std::size_t end = std::min(phrase.find(' '), phrase.size());
      words.push_back(phrase.substr(0, end));
      phrase.remove_prefix(std::min(end + 1, phrase.size()));
    }
    return words;
  }

  std::string_view path_;
  std::string_view text_;
  stripped_text stripped_;
  std::vector<violation> found_;
};

std::optional<std::size_t> lacks_spdx_line(const source& file) {
  const auto lines = split_lines(file.text);
  if (!lines.empty() && lines.front() == spdx_line) return std::nullopt;
  return 1;
}

std::optional<std::size_t> lacks_pragma_once(const source& file) {
  for (const auto line : split_lines(file.code)) {
    if (after_directive(line, "pragma") == "once") return std::nullopt;
  }
  return 1;
}

std::optional<std::size_t> is_too_long(const source& file) {
  if (split_lines(file.text).size() <= max_lines) return std::nullopt;
  return max_lines + 1;
}

}  // namespace

const std::vector<std::string_view>& checked_folders() {
  static const names folders = {"include/", "src/", "cli/", "sim/", "tests/", "bench/", "fuzz/", "examples/"};
  return folders;
}

std::vector<violation> check_file(std::string_view path, std::string_view text) {
  return checker(path, text).run();
}

}  // namespace cremone::style
