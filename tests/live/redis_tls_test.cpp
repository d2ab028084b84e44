// SPDX-License-Identifier: Apache-2.0
//
// rediss:// and the ways in which it must not work: a certificate that nobody we trust has signed, one for another
// name, none where one is asked for, and TLS where there is none.
#include "live/redis_fixture.hpp"

namespace cremone::test {

namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class RedisTls : public ::testing::Test {
 protected:
  [[nodiscard]] static std::string place(const std::string& url) {
    const auto from = url.find("127.0.0.1");
    return url.substr(from, url.find_first_of("/?", from) - from);
  }

  /// Why this does not work.
  [[nodiscard]] error refused(const std::string& url) const { return refusal(url, place(url)); }

  void expect_fine(const std::string& url) const {
    client locks = opened(url);
    EXPECT_TRUE(taken(locks, "lock", {.wait = 5s}).held());
  }

  /// The URL of the TLS port with nothing but these options.
  [[nodiscard]] std::string bare_url(const std::string& options) const {
    const std::string whole = server_.tls_url();
    return whole.substr(0, whole.find('?')) + "?layout=classic" + options;
  }

  redis_server server_{{.tls = true}};
};

TEST_F(RedisTls, WorksWithAndWithoutACertificateOfOurOwn) {
  expect_fine(server_.tls_url());
  expect_fine(server_.tls_url(0, "&server_name=localhost"));
  expect_fine(server_.tls_url(0, "&cert=" + server_.keys().pem(test::certificates::client) +
                                     "&key=" + server_.keys().key(test::certificates::client)));
}

TEST_F(RedisTls, RefusesAServerWhoseCertificateNobodyWeTrustHasSigned) {
  for (const std::string& options :
       {std::string(), "&ca=" + server_.keys().pem(test::certificates::other_ca)}) {
    const error why = refused(bare_url(options));
    EXPECT_EQ(why.code(), errc::access_denied) << why;
    EXPECT_THAT(why.message(), HasSubstr("certificate"));
  }
}

TEST_F(RedisTls, RefusesAServerWhoseCertificateIsForAnotherName) {
  const error why = refused(server_.tls_url(0, "&server_name=other.test"));
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_THAT(why.message(), HasSubstr("certificate"));
}

TEST_F(RedisTls, IsRefusedWithoutACertificateWhereTheServerWantsOne) {
  EXPECT_EQ(server_.ask({"CONFIG", "SET", "tls-auth-clients", "yes"}).shown(), "OK");
  const error why = refused(server_.tls_url());
  EXPECT_THAT(why.code(), AnyOf(errc::access_denied, errc::unreachable));
  expect_fine(server_.tls_url(0, "&cert=" + server_.keys().pem(test::certificates::client) +
                                     "&key=" + server_.keys().key(test::certificates::client)));
}

TEST_F(RedisTls, NamesAFileThatCannotBeUsed) {
  for (const std::string& options :
       {std::string("&ca=/nowhere/ca.pem"), "&ca=" + server_.keys().key(test::certificates::server),
        "&ca=" + server_.keys().pem(test::certificates::ca) +
            "&cert=/nowhere/cert.pem&key=" + server_.keys().key(test::certificates::client),
        "&ca=" + server_.keys().pem(test::certificates::ca) +
            "&cert=" + server_.keys().pem(test::certificates::client) +
            "&key=" + server_.keys().key(test::certificates::server)}) {
    SCOPED_TRACE(options);
    client locks = opened(bare_url(options));
    const auto no = locks.acquire("lock", {.wait = 500ms});
    ASSERT_FALSE(no);
    EXPECT_EQ(no.error().code(), errc::misconfigured) << no.error();
    EXPECT_THAT(no.error().message(), AnyOf(HasSubstr(".pem"), HasSubstr(".key")));
  }
}

TEST_F(RedisTls, AndPlainTextDoNotUnderstandEachOther) {
  const std::string plain_to_tls = "redis://" + place(server_.tls_url()) + "?layout=classic";
  EXPECT_THAT(refused(plain_to_tls).code(), AnyOf(errc::unreachable, errc::protocol_error));
  // A server without TLS may wait for the end of what it takes for a line: nobody is let in.
  client locks = opened("rediss://" + server_.node() +
                        "?layout=classic&ca=" + server_.keys().pem(test::certificates::ca));
  const error why = refusal_of(locks, server_.node(), {.wait = 3s});
  EXPECT_THAT(why.code(), AnyOf(errc::unreachable, errc::protocol_error, errc::access_denied)) << why;
}

}  // namespace

}  // namespace cremone::test
