// SPDX-License-Identifier: Apache-2.0
//
// with_server postgres|mariadb|redis COMMAND…: runs a command beside a server of its own, which it finds by the variables that the server's own
// tools go by. For the examples, which know nothing of tests.
#include "support/mariadb_server.hpp"
#include "support/postgres_server.hpp"
#include "support/redis_server.hpp"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <iostream>
#include <optional>
#include <string>

namespace cremone::test {

namespace {

class server {
 public:
  explicit server(const std::string& kind) {
    if (kind == "postgres") {
      postgres_.emplace();
      set("PGHOST", "127.0.0.1");
      set("PGPORT", std::to_string(postgres_->port()));
      set("PGUSER", "postgres");
      set("PGDATABASE", "shop");
    } else if (kind == "mariadb") {
      mariadb_.emplace();
      set("MYSQL_HOST", "127.0.0.1");
      set("MYSQL_TCP_PORT", std::to_string(mariadb_->port()));
      set("MYSQL_USER", "root");
      set("MYSQL_DATABASE", "shop");
    } else {
      redis_.emplace();
      set("REDIS_HOST", "127.0.0.1");
      set("REDIS_PORT", std::to_string(redis_->port()));
    }
  }

 private:
  static void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

  std::optional<postgres_server> postgres_;
  std::optional<mariadb_server> mariadb_;
  std::optional<redis_server> redis_;
};

int run(char** command) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(command[0], command);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

}  // namespace cremone::test

int main(int argc, char** argv) {
  if (argc < 3) {
    return 64;
  }
  try {
    const cremone::test::server beside(argv[1]);
    return cremone::test::run(argv + 2);
  } catch (const std::exception& failed) {
    std::cerr << failed.what() << '\n';
    return 1;
  }
}
