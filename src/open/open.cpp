// SPDX-License-Identifier: Apache-2.0
//
// The composition root: from a URL to a client. The only file that knows all stores; each is switched on by its
// CMake component.
#include <cremone/cremone.hpp>

#include "base/events.hpp"
#include "base/suggest.hpp"
#include "base/url.hpp"
#include "engine/asio_env.hpp"
#include "engine/engine.hpp"
#include "engine/seen_file.hpp"

#ifdef CREMONE_WITH_MEMORY
#include "backends/memory/backend.hpp"
#endif
#ifdef CREMONE_WITH_REDIS
#include "backends/redis/backend.hpp"
#include "engine/quorum/quorum.hpp"
#endif
#ifdef CREMONE_WITH_SQLITE
#include "backends/sqlite/backend.hpp"
#include "backends/sqlite/location.hpp"
#include "base/state_directory.hpp"
#endif

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace cremone {

namespace {

/// No server, no set-up: a file for this user on this machine.
constexpr std::string_view default_url = "sqlite://";

using opened = result<std::shared_ptr<backend>>;

struct surroundings {
  std::shared_ptr<detail::asio_env> outside;
  std::shared_ptr<const event_hub> events;
};

struct scheme {
  std::string_view name;
  opened (*open)(const url&, const surroundings&);
};

#ifdef CREMONE_WITH_MEMORY
opened open_memory(const url& u, const surroundings& s) {
  if (auto fine = u.allow_only({}); !fine) {
    return fine.error();
  }
  if (!u.user.empty() || !u.password.empty() || !u.path.empty()) {
    return error(errc::invalid_argument, "memory:// takes a name only, as in memory://orders");
  }
  return std::shared_ptr<backend>(
      std::make_shared<memory::memory_backend>(s.outside, memory::shared_store(u.authority), u.shown()));
}
#endif

#ifdef CREMONE_WITH_SQLITE
opened open_sqlite(const url& u, const surroundings& s) {
  if (auto fine = u.allow_only({}); !fine) {
    return fine.error();
  }
  if (!u.user.empty() || !u.password.empty() || !u.authority.empty()) {
    return error(errc::invalid_argument,
                 "sqlite:// takes an absolute path and nothing else, as in sqlite:///srv/locks/team.db");
  }
  sqlite::store_settings settings;
  settings.path = u.path;
  if (u.path.empty()) {
    auto directory = state_directory();
    if (!directory) {
      return directory.error();
    }
    settings.path = *directory + sqlite::default_file_name;
  }
  return sqlite::open_backend(s.outside, settings);
}
#endif

#ifdef CREMONE_WITH_REDIS
/// A quorum of one.
opened open_redis(const url& u, const surroundings& s) {
  auto node = redis::open_backend(u, s.outside, s.outside->network(), s.events);
  if (!node) {
    return node.error();
  }
  return std::shared_ptr<backend>(std::make_shared<detail::quorum>(s.outside, std::vector{std::move(*node)}));
}

/// A quorum of several.
opened open_redlock(const url& u, const surroundings& s) {
  auto ring = redis::open_ring(u, s.outside, s.outside->network(), s.events);
  if (!ring) {
    return ring.error();
  }
  return std::shared_ptr<backend>(std::make_shared<detail::quorum>(
      s.outside, std::move(ring->nodes),
      detail::quorum_options{ring->store, ring->identity, std::move(ring->names), ring->strict}));
}
#endif

constexpr std::array schemes = {
#ifdef CREMONE_WITH_MEMORY
    scheme{"memory", open_memory},
#endif
#ifdef CREMONE_WITH_SQLITE
    scheme{"sqlite", open_sqlite},
#endif
#ifdef CREMONE_WITH_REDIS
    scheme{"redis", open_redis},
    scheme{"rediss", open_redis},
    scheme{"redis+unix", open_redis},
    scheme{"redis+sentinel", open_redis},
    scheme{"rediss+sentinel", open_redis},
    scheme{"redlock", open_redlock},
    scheme{"redlocks", open_redlock},
#endif
    scheme{"", nullptr},  // so that a build without any store still compiles
};

error unknown_scheme(const std::string& name) {
  std::string known;
  std::vector<std::string_view> names;
  for (const scheme& s : schemes) {
    if (s.open != nullptr) {
      known += (known.empty() ? "" : ", ") + std::string(s.name) + "://";
      names.push_back(s.name);
    }
  }
  const std::string no_such_store = "no store is called " + name + "://; ";
  if (const std::string_view meant = closest(name, names); !meant.empty()) {
    return {errc::invalid_argument, no_such_store + "did you mean " + std::string(meant) + "://?"};
  }
  return {errc::invalid_argument, no_such_store + "this build has " + (known.empty() ? "none" : known)};
}

}  // namespace

result<client> open(std::string_view url_text, open_options options) {
  const auto parsed = parse_url(url_text.empty() ? default_url : url_text);
  if (!parsed) {
    return parsed.error();
  }
  const auto* const found = std::find_if(schemes.begin(), schemes.end(), [&](const scheme& s) {
    return s.open != nullptr && s.name == parsed->scheme;
  });
  if (found == schemes.end()) {
    return unknown_scheme(parsed->scheme);
  }
  try {
    const auto e = std::make_shared<detail::asio_env>();
    const auto events = std::make_shared<const event_hub>(e, std::move(options.on_event));
    auto store = found->open(*parsed, {e, events});
    if (!store) {
      return store.error();
    }
    return detail::access::make_client(std::make_shared<detail::engine>(
        e, std::move(*store), std::make_unique<detail::seen_file>(), events));
  } catch (const std::runtime_error& failed) {  // std's or Boost's: no descriptor or no thread left
    return error(errc::misconfigured, "cannot open " + parsed->shown() + ": " + failed.what());
  }
}

}  // namespace cremone
