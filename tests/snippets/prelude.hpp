// SPDX-License-Identifier: Apache-2.0
//
// What the examples in the headers take for granted: a client, and work to do under a lock. Only declared; the
// examples are compiled, not run (examples/ is for that).
#pragma once

#include <cremone/async.hpp>
#include <cremone/cremone.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <mutex>
#include <stop_token>
#include <string>

using namespace std::chrono_literals;
namespace asio = boost::asio;

extern cremone::client& locks;
bool more_to_do();
void post_entry(cremone::fence_token token);
void report(const std::string& message);
void use(cremone::lease& lease);
void work(cremone::fence_token token, std::stop_token stop);
asio::awaitable<void> work(cremone::fence_token token);
void write_one(cremone::fence_token token);
