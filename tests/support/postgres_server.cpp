// SPDX-License-Identifier: Apache-2.0
#include "support/postgres_server.hpp"

#include "base/descriptor.hpp"
#include "support/wait_for.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <libpq-fe.h>

namespace cremone::test {

namespace {

constexpr const char* package = "the package postgresql";
constexpr const char* initdb_words =
    " -U postgres -A trust -E UTF8 --locale=C --no-sync --no-instructions --wal-segsize=1";
constexpr const char* first_statement = "CREATE DATABASE shop";

/// Debian keeps them apart by version and out of PATH. The highest version that is there.
std::string program(const std::string& name) {
  std::string best;
  int highest = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", none)) {
    const int version = std::atoi(entry.path().filename().c_str());
    if (const auto file = entry.path() / "bin" / name; version > highest && std::filesystem::exists(file)) {
      highest = version;
      best = file;
    }
  }
  if (best.empty()) {
    throw std::runtime_error("there is no PostgreSQL server in /usr/lib/postgresql: install " +
                             std::string(package) + " (./dev setup)");
  }
  return best;
}

/// A file of the server that was killed may still be there.
bool says_ready(pid_t server, const std::string& file) {
  std::ifstream in(file);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  return text.starts_with(std::to_string(server) + "\n") && text.find("\nready") != std::string::npos;
}

}  // namespace

postgres_server::postgres_server(postgres_options options)
    : directory_(place_for_data(options.synced)), options_(options) {
  user_.own(directory_.path());
  const std::string from = original();
  if (!std::filesystem::exists(directory_.file("data"))) {
    std::filesystem::copy(from, directory_.file("data"), std::filesystem::copy_options::recursive);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path())) {
      user_.own(entry.path());
    }
  }
  start_again();
}

/// By SIGQUIT it takes its shared memory with it, of which the machine has only so many pieces.
postgres_server::~postgres_server() { process_.stop(SIGQUIT); }

std::string postgres_server::conninfo(const std::string& user) const {
  return "host=127.0.0.1 port=" + port_.text() + " user=" + user +
         " dbname=shop connect_timeout=10 client_encoding=UTF8";
}

std::string postgres_server::original() {
  const std::filesystem::path shelf = CREMONE_TEST_ORIGINALS;
  std::filesystem::create_directories(shelf);
  const descriptor lock(::open((shelf / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX) != 0) {
    throw std::system_error(errno, std::generic_category(), "lock " + (shelf / "lock").string());
  }
  // Another version of the server, or of this file, makes its own.
  const std::string recipe = program("initdb") + initdb_words + first_statement;
  const auto kept = shelf / ("postgres-" + std::to_string(std::hash<std::string>()(recipe)));
  if (!std::filesystem::exists(kept)) {
    make_cluster();
    start_again();
    add_database();
    process_.stop(SIGINT);
    const auto unfinished = shelf / "unfinished";
    std::filesystem::remove_all(unfinished);
    std::filesystem::copy(directory_.file("data"), unfinished, std::filesystem::copy_options::recursive);
    std::filesystem::rename(unfinished, kept);
  }
  return kept;
}

void postgres_server::make_cluster() {
  std::vector<std::string> words = {program("initdb"), "-D", directory_.file("data")};
  std::istringstream more(initdb_words);
  words.insert(words.end(), std::istream_iterator<std::string>(more), {});
  server_process made(words, user_, directory_.file("initdb.log"), package);
  if (!made.finish()) {
    throw std::runtime_error("initdb fails: " + made.log());
  }
}

void postgres_server::add_database() {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> link(
      PQconnectdb((conninfo() + " dbname=postgres").c_str()), &PQfinish);
  const std::unique_ptr<PGresult, decltype(&PQclear)> made(PQexec(link.get(), first_statement), &PQclear);
  if (PQresultStatus(made.get()) != PGRES_COMMAND_OK) {
    throw std::runtime_error(std::string("CREATE DATABASE: ") + PQerrorMessage(link.get()));
  }
}

void postgres_server::start_again() {
  process_ = {};
  process_ = server_process(
      {program("postgres"), "-D", directory_.file("data"), "-p", port_.text(), "-c",
       "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + directory_.path(), "-c",
       "shared_buffers=16MB", "-c", "autovacuum=off", "-c", "dynamic_shared_memory_type=mmap", "-c",
       "recovery_init_sync_method=syncfs", "-c", options_.synced ? "fsync=on" : "fsync=off"},
      user_, directory_.file("log"), package);
  // It says so in a file; to ask it would take a new process of its each time.
  const bool ready = wait_for(
      [&] {
        return process_.has_ended() || says_ready(process_.pid(), directory_.file("data/postmaster.pid"));
      },
      3 * generous);
  if (!ready || process_.has_ended()) {
    throw std::runtime_error("postgres does not " + std::string(ready ? "start: " : "answer: ") + log());
  }
}

}  // namespace cremone::test
