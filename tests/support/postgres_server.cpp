// SPDX-License-Identifier: Apache-2.0
#include "support/postgres_server.hpp"

#include "support/wait_for.hpp"

#include <signal.h>

#include <filesystem>
#include <memory>
#include <stdexcept>

#include <libpq-fe.h>

namespace cremone::test {

namespace {

constexpr const char* package = "the package postgresql";

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

}  // namespace

postgres_server::postgres_server(postgres_options options) : options_(options) {
  user_.own(directory_.path());
  make_cluster();
  start_again();
  const std::unique_ptr<PGconn, decltype(&PQfinish)> first(
      PQconnectdb((conninfo() + " dbname=postgres").c_str()), &PQfinish);
  const std::unique_ptr<PGresult, decltype(&PQclear)> made(PQexec(first.get(), "CREATE DATABASE shop"),
                                                           &PQclear);
  if (PQresultStatus(made.get()) != PGRES_COMMAND_OK) {
    throw std::runtime_error(std::string("CREATE DATABASE: ") + PQerrorMessage(first.get()));
  }
}

/// By SIGQUIT it takes its shared memory with it, of which the machine has only so many pieces.
postgres_server::~postgres_server() { process_.stop(SIGQUIT); }

std::string postgres_server::conninfo(const std::string& user) const {
  return "host=127.0.0.1 port=" + port_.text() + " user=" + user +
         " dbname=shop connect_timeout=10 client_encoding=UTF8";
}

void postgres_server::make_cluster() {
  server_process made({program("initdb"), "-D", directory_.file("data"), "-U", "postgres", "-A", "trust",
                       "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"},
                      user_, directory_.file("initdb.log"), package);
  if (!made.finish()) {
    throw std::runtime_error("initdb fails: " + made.log());
  }
}

void postgres_server::start_again() {
  process_ = {};
  process_ =
      server_process({program("postgres"), "-D", directory_.file("data"), "-p", port_.text(), "-c",
                      "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=" + directory_.path(),
                      "-c", "shared_buffers=16MB", "-c", "autovacuum=off", "-c",
                      "dynamic_shared_memory_type=mmap", "-c", options_.synced ? "fsync=on" : "fsync=off"},
                     user_, directory_.file("log"), package);
  const bool ready = wait_for(
      [&] { return process_.has_ended() || PQping((conninfo() + " dbname=postgres").c_str()) == PQPING_OK; },
      3 * generous);
  if (!ready || process_.has_ended()) {
    throw std::runtime_error("postgres does not " + std::string(ready ? "start: " : "answer: ") + log());
  }
}

}  // namespace cremone::test
