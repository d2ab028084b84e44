// SPDX-License-Identifier: Apache-2.0
#include "base/addresses.hpp"

#include "base/signals.hpp"

#include <netdb.h>
#include <pthread.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

namespace cremone::detail {
namespace {

/// Lookups at one time. Each hangs for as long as the system's resolver is patient, half a minute perhaps, while
/// whoever wants the name has given up and asks again: more than this many are not going to help.
constexpr int max_lookups = 32;

error cannot_resolve(const std::string& host, const std::string& why) {
  return {errc::unreachable, "cannot resolve '" + host + "': " + why};
}

/// What getaddrinfo says. With AI_NUMERICHOST it asks nobody.
int ask(const endpoint& where, int flags, addresses& found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &list);
  if (failed != 0) {
    return failed;
  }
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    socket_address& added = found.emplace_back();
    added.size = std::min<socklen_t>(each->ai_addrlen, sizeof added.storage);
    std::copy_n(reinterpret_cast<const char*>(each->ai_addr), added.size,
                reinterpret_cast<char*>(&added.storage));
  }
  ::freeaddrinfo(list);
  return found.empty() ? EAI_NONAME : 0;
}

result<addresses> look_up(const endpoint& where) {
  addresses found;
  const int failed = ask(where, 0, found);
  if (failed == EAI_SYSTEM) {
    return cannot_resolve(where.host, std::generic_category().message(errno));
  }
  if (failed != 0) {
    return cannot_resolve(where.host, ::gai_strerror(failed));
  }
  return found;
}

result<addresses> unix_address(const std::string& path) {
  socket_address found;
  auto* to = reinterpret_cast<sockaddr_un*>(&found.storage);
  constexpr std::size_t longest = sizeof to->sun_path - 1;
  if (path.size() > longest) {
    return error{errc::misconfigured, "the path of a unix socket has at most " + std::to_string(longest) +
                                          " bytes, and this one has " + std::to_string(path.size()) + ": " +
                                          path};
  }
  to->sun_family = AF_UNIX;
  path.copy(to->sun_path, longest);
  found.size = sizeof(sockaddr_un);
  return addresses{found};
}

}  // namespace

std::string socket_address::shown() const {
  char text[NI_MAXHOST] = "";
  if (family() != AF_UNIX && ::getnameinfo(get(), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) {
    return "?";
  }
  return text;
}

std::optional<result<addresses>> known_addresses(const endpoint& where) {
  if (!where.path.empty()) {
    return unix_address(where.path);
  }
  addresses found;
  if (ask(where, AI_NUMERICHOST, found) == 0) {
    return result<addresses>(std::move(found));
  }
  return std::nullopt;
}

result<void> name_lookup::start(const endpoint& where, callback<void(result<addresses>)> done) {
  if (running_.fetch_add(1) >= max_lookups) {
    --running_;
    return cannot_resolve(where.host,
                          std::to_string(max_lookups) + " names are being asked for and nobody answers");
  }
  try {
    const signals_blocked guard;
    std::thread([self = shared_from_this(), where, told = std::move(done)]() mutable {
      ::pthread_setname_np(::pthread_self(), "cremone-lookup");
      auto found = look_up(where);
      --self->running_;
      told(std::move(found));
    }).detach();  // nobody waits for it: it may take minutes
  } catch (const std::system_error& failed) {
    --running_;
    return cannot_resolve(where.host, "no thread for it: " + failed.code().message());
  }
  return {};
}

}  // namespace cremone::detail
