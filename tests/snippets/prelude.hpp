// SPDX-License-Identifier: Apache-2.0
//
// What the examples in the headers take for granted: a client, and work to do under a lock. Only declared; the
// examples are compiled, not run (examples/ is for that).
#pragma once

#include <cremone/async.hpp>
#include <cremone/cremone.hpp>
#include <cremone/fence_mariadb.hpp>
#include <cremone/fence_postgres.hpp>
#include <cremone/fence_redis.hpp>
#include <cremone/fence_sqlite.hpp>
#include <cremone/fenced_file.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <mutex>
#include <stop_token>
#include <string>

using namespace std::chrono_literals;
namespace asio = boost::asio;

/// The user's connection to whatever the example is about.
struct some_connection {
  operator sqlite3*() const;
  operator pg_conn*() const;
  operator st_mysql*() const;
  operator redisContext*() const;
};

extern cremone::client& locks;
extern cremone::lease& lease;
extern some_connection connection;
extern some_connection database;
bool more_to_do();
void post_entry(cremone::fence_token token);
cremone::result<void> post_entries(sqlite3* into);
void roll_back(const cremone::error& why);
void report(const std::string& message);
void use(cremone::lease& lease);
void work(cremone::fence_token token, std::stop_token stop);
asio::awaitable<void> work(cremone::fence_token token);
void write_one(cremone::fence_token token);
