// SPDX-License-Identifier: Apache-2.0
//
// The contract for redlock:// in its two layouts, against one, three and five real servers that the tests start. The servers are
// one set per program; each test begins with databases that were emptied.
#include "contract/suite.hpp"

#include "backends/redis/backend.hpp"
#include "base/url.hpp"
#include "engine/asio_env.hpp"
#include "engine/quorum/quorum.hpp"
#include "support/pending.hpp"
#include "support/redis_server.hpp"

#include <cremone/cremone.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace cremone::contract {

namespace {

using test::redis_server;

constexpr std::size_t most_servers = 5;

redis::opened_ring open_ring(const std::string& url, const std::shared_ptr<env>& outside) {
  const auto real = std::dynamic_pointer_cast<detail::asio_env>(outside);
  return redis::open_ring(parse_url(url).value(), outside, real->network(),
                          std::make_shared<const event_hub>())
      .value();
}

void end_quarantine(const std::string& url) {
  const auto opened = cremone::open(url)->end_quarantine();
  EXPECT_TRUE(opened) << opened.error().message();
}

/// Lets a server run each script once. It has to be taught a script that it has not seen, and meanwhile does what was asked later:
/// one that is not needed for a majority would still be at it when a test looks at its vote.
void teach(const redis_server& server) {
  for (const std::string layout : {"record", "classic"}) {
    const std::string url = "redlock://" + server.node() + "?prefix=lessons&layout=" + layout;
    if (layout == "record") {
      end_quarantine(url);
    }
    const auto outside = std::make_shared<detail::asio_env>();
    test::blocking_backend pupil(outside, open_ring(url, outside).nodes.front());
    const lock_name lock("lesson");
    const owner_id owner = test::fresh_owner();
    const grant yes = test::granted(pupil.try_acquire(test::wanting(lock, owner)));
    test::pending<acquire_answer> committed("commit");
    pupil.seam().commit(lock, owner, yes.token, committed.reply());
    (void)committed.get(unknown{});
    (void)pupil.renew(test::renewing(lock, owner, yes.token, 1));
    (void)pupil.inspect(lock);
    (void)pupil.list();
    (void)pupil.force(lock, owner);
    (void)pupil.release(lock, owner);
  }
}

std::array<redis_server, most_servers>& servers() {
  static std::array<redis_server, most_servers> all;
  static const bool taught = [] {
    std::for_each(all.begin(), all.end(), teach);
    return true;
  }();
  (void)taught;
  return all;
}

template <std::size_t Servers>
std::string url_of(const std::string& layout) {
  std::string text = "redlock://";
  for (std::size_t i = 0; i < Servers; ++i) {
    text += (i == 0 ? "" : ",") + servers()[i].node();
  }
  return text + "?prefix=n" + std::to_string(Servers) + "&layout=" + layout;
}

template <std::size_t Servers>
class redlock_store final : public store_under_test {
 public:
  explicit redlock_store(const std::string& layout) : url_(url_of<Servers>(layout)) {
    for (std::size_t i = 0; i < Servers; ++i) {
      EXPECT_EQ(servers()[i].ask({"FLUSHALL"}).shown(), "OK");
    }
    if (layout == "record") {  // what was emptied gives out no lock for a minute, unless somebody says so
      end_quarantine(url_);
    }
  }

  [[nodiscard]] std::string url() const override { return url_; }

  [[nodiscard]] std::shared_ptr<backend> connect(const std::shared_ptr<env>& outside) override {
    auto ring = open_ring(url_, outside);
    return std::make_shared<detail::quorum>(  // as open() does
        outside, std::move(ring.nodes),
        detail::quorum_options{ring.store, ring.identity, std::move(ring.names), ring.strict});
  }

 private:
  const std::string url_;
};

template <std::size_t Servers>
std::unique_ptr<store_under_test> record() {
  return std::make_unique<redlock_store<Servers>>("record");
}

template <std::size_t Servers>
std::unique_ptr<store_under_test> classic() {
  return std::make_unique<redlock_store<Servers>>("classic");
}

}  // namespace

std::vector<store_kind> tested_stores() {
  std::vector<store_kind> all = {{"record_3", record<3>}, {"classic_3", classic<3>}};
#ifndef CREMONE_TEST_ONE_ROAD  // the sanitizers have seen the rest in the others
  all.insert(all.end(), {{"record_1", record<1>},
                         {"record_5", record<5>},
                         {"classic_1", classic<1>},
                         {"classic_5", classic<5>}});
#endif
  return all;
}

}  // namespace cremone::contract
