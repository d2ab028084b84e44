// SPDX-License-Identifier: Apache-2.0
//
// `fence` at an address where a hostile, a stopped or another server answers: it ends in time, in
// bounded memory, and says what was wrong. And TLS: the certificate is always checked.
#include "cli/fence_fixture.hpp"
#include "support/raw_server.hpp"
#include "support/redis_server.hpp"

#include <sys/resource.h>

#include <chrono>
#include <memory>

namespace cremone::test {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view pong = "+PONG\r\n";

/// The tool's own time limit, plus what a loaded machine adds.
constexpr auto in_time = 20s;

/// Answers the first command with `first`, and then with `piece` again and again, up to 512 MiB.
raw_server::act flood(std::string first, std::string piece) {
  return [first = std::move(first), piece = std::move(piece)](int socket) {
    constexpr std::size_t enough = std::size_t{512} << 20U;
    bool there = !receive_some(socket).empty() && send_all(socket, first);
    for (std::size_t sent = 0; there && sent < enough; sent += piece.size()) {
      there = send_all(socket, piece);
    }
    stay_silent(socket);
  };
}

/// Answers PING, and then runs `rest`.
raw_server::act after_ping(raw_server::act rest) {
  return [rest = std::move(rest)](int socket) {
    if (!receive_some(socket).empty() && send_all(socket, pong)) {
      rest(socket);
    }
  };
}

std::string repeated(const std::string& what) {
  std::string all;
  while (all.size() < 65536) {
    all += what;
  }
  return all;
}

class FenceHostile : public FenceTool {
 protected:
  struct attack {
    raw_server::act server;
    std::string command;  // check or show
    int code;
    std::string said;
  };

  /// Runs all attacks at once, because most of them end by a time limit.
  void expect_ends(const std::vector<attack>& attacks) {
    std::vector<std::unique_ptr<raw_server>> servers;
    std::vector<std::unique_ptr<process>> tools;
    const auto begun = std::chrono::steady_clock::now();
    for (const attack& one : attacks) {
      servers.push_back(std::make_unique<raw_server>(one.server));
      const std::string url = "redis://" + servers.back()->node();
      tools.push_back(std::make_unique<process>(
          fence_words({one.command, "--url", url, "prices"}, {.token = "41"}), here()));
    }
    for (std::size_t i = 0; i < attacks.size(); ++i) {
      SCOPED_TRACE(i);
      const auto end = tools[i]->wait(in_time + generous);
      EXPECT_EQ(end.code, attacks[i].code) << end.err;
      EXPECT_THAT(end.err, AllOf(HasSubstr(servers[i]->node()), HasSubstr(attacks[i].said)));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begun, in_time);
  }
};

TEST_F(FenceHostile, FloodEndsInBoundedMemory) {
  const std::string bytes(65536, 'x');
  expect_ends({{flood("$2000000000\r\n", bytes), "check", 84, "8 MiB"},
               {flood("+", bytes), "show", 84, "8 MiB"},
               {flood("*2000000000\r\n", repeated(":1\r\n")), "show", 84, "100,000 parts"},
               {after_ping(flood("$2000000000\r\n", bytes)), "check", 82, "8 MiB"},
               {after_ping(flood("$2000000000\r\n", bytes)), "show", 69, "8 MiB"}});
  rusage children{};
  ASSERT_EQ(::getrusage(RUSAGE_CHILDREN, &children), 0);
  EXPECT_LT(children.ru_maxrss, 256 * 1024) << "KiB, of the largest child";
}

TEST_F(FenceHostile, SlowOrSilentServerFailsAtTheDeadline) {
  const std::string said = "within 10 s";
  expect_ends({{stay_silent, "show", 69, said},
               {trickle("+"), "show", 69, said},
               {trickle("$1000000\r\n"), "check", 69, said},
               {after_ping(stay_silent), "check", 82, said},
               {after_ping(trickle("+")), "check", 82, said},
               {after_ping(trickle("$1000\r\n")), "show", 69, said}});
}

/// libpq checks its own time limit only when there is nothing to read, so a flood evades that limit.
/// Here the URL turns the limit off, which leaves the tool's.
TEST_F(FenceHostile, PostgresLoginThatNeverEndsFailsAtTheDeadline) {
  const raw_server server([](int socket) {
    const std::string logged_in("R\0\0\0\x08\0\0\0\0", 9);
    static_cast<void>(!receive_some(socket).empty() && send_all(socket, logged_in));
    stay_silent(socket);
  });
  const std::string url = "postgres://u@" + server.node() + "/db?sslmode=disable&connect_timeout=0";
  process tool(fence_words({"show", "--url", url, "prices"}), here());
  const auto end = tool.wait(in_time + generous);
  EXPECT_EQ(end.code, 69) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr(server.node()), HasSubstr("no complete login within 20 s")));
}

TEST_F(FenceHostile, AnotherKindOfServerIsReportedWithItsAnswer) {
  const auto answers = [](std::string text) -> raw_server::act {
    return [text = std::move(text)](int socket) {
      static_cast<void>(!receive_some(socket).empty() && send_all(socket, text));
      stay_silent(socket);
    };
  };
  expect_ends(
      {{answers("HTTP/1.1 400 Bad Request\r\nServer: nginx\r\n\r\n"), "check", 84,
        "does not answer like a Redis server"},
       {answers("HTTP/1.1 400 Bad Request\r\n\r\n"), "show", 84, "began with 'HTTP/1.1 400 Bad Request"},
       {answers("SSH-2.0-OpenSSH_9.2p1\r\n"), "check", 84, "began with 'SSH-2.0-OpenSSH"},
       {answers("*1\r\n$4\r\nPING\r\n"), "check", 84, "does not answer like a Redis server"},
       {answers("+PONG\r\n+OK\r\n"), "check", 84, "more than was asked for"}});
}

TEST_F(FenceHostile, PasswordThatTheServerRepeatsIsNotPrinted) {
  const raw_server echo([](int socket) {
    for (std::string heard = receive_some(socket); !heard.empty(); heard = receive_some(socket)) {
      const bool login = heard.find("opensesame") != std::string::npos;
      static_cast<void>(send_all(
          socket, login ? "-ERR unknown command `AUTH`, with args beginning with: `opensesame`\r\n" : pong));
    }
  });
  const auto end = fence({"show", "--url", "redis://:opensesame@" + echo.node(), "prices"});
  EXPECT_EQ(end.code, 77) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr(echo.node()), Not(HasSubstr("opensesame"))));
}

class FenceRedisTls : public FenceTool {
 protected:
  [[nodiscard]] finished check(const std::string& url) const {
    return fence({"check", "--url", url, "prices"}, {.token = "41"});
  }
  /// The TLS port with these options alone.
  [[nodiscard]] std::string at(const std::string& options) const {
    const std::string whole = server.tls_url();
    return whole.substr(0, whole.find('?')) + "?" + options;
  }
  [[nodiscard]] std::string ca() const { return "ca=" + server.keys().pem(certificates::ca); }

  redis_server server{{.tls = true}};
};

TEST_F(FenceRedisTls, TrustedCertificateIsAccepted) {
  const auto end = check(at(ca()));
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(fence({"show", "--url", at(ca() + "&server_name=localhost"), "prices"}).out, "41\n");
  EXPECT_EQ(server.ask({"CONFIG", "SET", "tls-auth-clients", "yes"}).shown(), "OK");
  const auto without = check(at(ca()));
  EXPECT_EQ(without.code, 77) << without.err;
  const auto with = check(at(ca() + "&cert=" + server.keys().pem(certificates::client) +
                             "&key=" + server.keys().key(certificates::client)));
  EXPECT_EQ(with.code, 0) << with.err;
}

TEST_F(FenceRedisTls, UntrustedCertificateIsRefused) {
  for (const std::string& options : {std::string("db=0"), "ca=" + server.keys().pem(certificates::other_ca),
                                     ca() + "&server_name=other.test"}) {
    const auto end = check(at(options));
    EXPECT_EQ(end.code, 77) << options << " " << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("certificate"), HasSubstr("127.0.0.1:")));
  }
  EXPECT_EQ(check(at("ca=/nowhere/ca.pem")).code, 78);
  EXPECT_EQ(fence({"show", "--url", server.url(), "prices"}).code, 1) << "nothing came through";
}

TEST_F(FenceRedisTls, ServerWithoutTlsIsReported) {
  const raw_server web([](int socket) {
    static_cast<void>(!receive_some(socket).empty() && send_all(socket, "HTTP/1.1 400 Bad Request\r\n\r\n"));
  });
  const auto end = check("rediss://" + web.node() + "?" + ca());
  EXPECT_EQ(end.code, 84);
  EXPECT_THAT(end.err, AllOf(HasSubstr(web.node()), HasSubstr("speak TLS")));
}

}  // namespace
}  // namespace cremone::test
