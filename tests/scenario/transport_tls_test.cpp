// SPDX-License-Identifier: Apache-2.0
//
// TLS against a server of OpenSSL's: who is trusted and who is not, and what is said about it.
#include "scenario/transport_fixture.hpp"
#include "support/certificates.hpp"

#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>

#include <cerrno>
#include <fstream>

namespace cremone::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const certificates& files() {
  static const certificates made;  // once for all tests of this program
  return made;
}

/// A server's end of a connection; blocking, like the socket under it.
class tls_peer {
 public:
  explicit tls_peer(const char* name, const char* client_ca = nullptr, int newest = TLS1_3_VERSION)
      : context_(::SSL_CTX_new(::TLS_server_method()), &::SSL_CTX_free), ssl_(nullptr, &::SSL_free) {
    EXPECT_EQ(::SSL_CTX_use_certificate_chain_file(context_.get(), files().pem(name).c_str()), 1);
    EXPECT_EQ(::SSL_CTX_use_PrivateKey_file(context_.get(), files().key(name).c_str(), SSL_FILETYPE_PEM), 1);
    SSL_CTX_set_max_proto_version(context_.get(), newest);
    if (client_ca != nullptr) {
      ::SSL_CTX_load_verify_file(context_.get(), files().pem(client_ca).c_str());
      ::SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
  }

  /// False when the client or the server did not want to.
  [[nodiscard]] bool accept(const listener& at) {
    socket_ = at.accept();
    ssl_.reset(::SSL_new(context_.get()));
    ::SSL_set_fd(ssl_.get(), socket_.get());
    return ::SSL_accept(ssl_.get()) == 1;
  }
  [[nodiscard]] std::string read_exactly(std::size_t count) {
    std::string read(count, '\0');
    for (std::size_t have = 0; have < count;) {
      std::size_t n = 0;
      if (::SSL_read_ex(ssl_.get(), read.data() + have, count - have, &n) != 1) {
        ADD_FAILURE() << "wanted " << count << " bytes, got " << have;
        break;
      }
      have += n;
    }
    return read;
  }
  void write(std::string_view bytes) {
    std::size_t n = 0;
    EXPECT_EQ(::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &n), 1);
  }
  void ask_for_new_keys() { EXPECT_EQ(::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED), 1); }
  void say_goodbye() { ::SSL_shutdown(ssl_.get()); }
  void reset() {
    ssl_.reset();
    socket_.reset();
  }
  [[nodiscard]] std::string name_asked_for() const {
    const char* const name = ::SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
    return name != nullptr ? name : "";
  }
  [[nodiscard]] std::string version() const { return ::SSL_get_version(ssl_.get()); }

 private:
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_;
  descriptor socket_;
  std::unique_ptr<SSL, decltype(&::SSL_free)> ssl_;
};

class TransportTls : public transport_fixture {
 protected:
  // Of the servers here: they write with OpenSSL's own I/O. That ours cannot raise it, the fixture sees in each send.
  TransportTls() : before_(::signal(SIGPIPE, SIG_IGN)) {
    calls_.on_lookup([](const std::string&) { return system_calls::lookup_answer{0, {"127.0.0.1"}}; });
  }
  ~TransportTls() override { ::signal(SIGPIPE, before_); }

  [[nodiscard]] endpoint where(const std::string& host = "127.0.0.1") const {
    endpoint found = server_.where();
    found.host = host;
    found.tls.emplace();
    found.tls->ca_file = files().pem(certificates::ca);
    return found;
  }
  [[nodiscard]] endpoint with_certificate(const char* name) const {
    endpoint found = where();
    found.tls->cert_file = files().pem(name);
    found.tls->key_file = files().key(name);
    return found;
  }
  /// The error with which the client ends that comes to this server.
  [[nodiscard]] error refusal(const endpoint& at, tls_peer peer) {
    const auto link = open(at);
    EXPECT_FALSE(peer.accept(server_));
    peer.reset();
    EXPECT_FALSE(events_->is_open());
    return end();
  }
  void expect_misconfigured(const endpoint& at, const std::string& file, const std::string& why) {
    const auto link = open(at);
    EXPECT_EQ(end().code(), errc::misconfigured);
    EXPECT_THAT(end().detail(), AllOf(HasSubstr("'" + file + "'"), HasSubstr(why)));
  }

  void (*before_)(int);
  system_calls calls_;
  listener server_;
};

TEST_F(TransportTls, CarriesBytesBothWays) {
  const auto link = open(where());
  tls_peer peer(certificates::server);
  ASSERT_TRUE(peer.accept(server_));
  ASSERT_TRUE(opened());
  link->put("hello");
  link->flush();
  EXPECT_EQ(peer.read_exactly(5), "hello");
  peer.write("and back");
  EXPECT_TRUE(received("and back"));
  EXPECT_EQ(peer.version(), "TLSv1.3");
  EXPECT_EQ(peer.name_asked_for(), "") << "an address is no name";
}

TEST_F(TransportTls, GoesByTheNameOfTheHost) {
  const auto link = open(where("localhost"));
  tls_peer peer(certificates::named_server);
  ASSERT_TRUE(peer.accept(server_));
  EXPECT_TRUE(opened());
  EXPECT_EQ(peer.name_asked_for(), "localhost");
}

TEST_F(TransportTls, GoesByTheServerNameThatIsGivenAlsoOverAUnixSocket) {
  const listener server(directory_.file("s"));
  endpoint at = where();
  at.path = server.where().path;
  at.tls->server_name = "localhost";
  const auto link = open(at);
  tls_peer peer(certificates::named_server);
  ASSERT_TRUE(peer.accept(server));
  EXPECT_TRUE(opened());
  EXPECT_EQ(peer.name_asked_for(), "localhost");
}

TEST_F(TransportTls, SpeaksTheVersionBeforeTheLast) {
  const auto link = open(where());
  tls_peer peer(certificates::server, nullptr, TLS1_2_VERSION);
  ASSERT_TRUE(peer.accept(server_));
  EXPECT_TRUE(opened());
  EXPECT_EQ(peer.version(), "TLSv1.2");
}

TEST_F(TransportTls, CarriesMuchThroughAKernelThatTakesLittle) {
  std::atomic<std::size_t> calls = 0;
  calls_.on_send([&](int, std::string_view bytes) -> ssize_t {
    const auto n = ++calls;
    return n % 3 == 0 ? -EAGAIN : n % 3 == 1 ? 7 : static_cast<ssize_t>(bytes.size() / 2 + 1);
  });
  const auto link = open(where());
  tls_peer peer(certificates::server);
  ASSERT_TRUE(peer.accept(server_));
  ASSERT_TRUE(opened());
  std::string sent;
  for (int i = 0; i < 200'000; ++i) {
    sent += std::to_string(i);
  }
  link->put(sent);
  link->flush();
  EXPECT_TRUE(peer.read_exactly(sent.size()) == sent);
}

/// Many threads send while the loop reads, and the peer asks for new keys, which makes the session talk by itself.
TEST_F(TransportTls, KeepsItsOrderWhenManyThreadsSendWhileItReceives) {
  constexpr int thread_count = 8;
  constexpr int per_thread = 300;
  const auto link = open(where());
  tls_peer peer(certificates::server);
  ASSERT_TRUE(peer.accept(server_));
  ASSERT_TRUE(opened());
  std::vector<std::thread> threads;
  for (int t = 0; t < thread_count; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < per_thread; ++i) {
        link->put("0123456789abcdef");
        link->flush();
      }
    });
  }
  std::string echoed;
  for (int i = 0; i < thread_count * per_thread; ++i) {
    const auto message = peer.read_exactly(16);
    ASSERT_EQ(message, "0123456789abcdef");
    if (i % 100 == 0) {
      peer.ask_for_new_keys();
    }
    peer.write(message);
    echoed += message;
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(received(echoed));
}

TEST_F(TransportTls, SaysThatTheServerClosed) {
  const auto link = open(where());
  tls_peer peer(certificates::server);
  ASSERT_TRUE(peer.accept(server_));
  ASSERT_TRUE(opened());
  peer.say_goodbye();
  EXPECT_EQ(end().detail(), server_.where().shown() + " closed the connection");
}

// ---- whom it does not trust ----------------------------------------------------------------------------------------

TEST_F(TransportTls, RefusesACertificateOfAnotherAuthority) {
  endpoint at = where();
  at.tls->ca_file = files().pem(certificates::other_ca);
  const auto why = refusal(at, tls_peer(certificates::server));
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_EQ(why.detail(), "the certificate of " + server_.where().shown() +
                              " is not accepted: unable to get local issuer certificate");
}

TEST_F(TransportTls, RefusesACertificateForAnotherName) {
  endpoint at = where();
  at.tls->server_name = "db.example";
  const auto why = refusal(at, tls_peer(certificates::server));
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_THAT(why.detail(), HasSubstr("is not accepted: hostname mismatch, it is not for 'db.example'"));
}

TEST_F(TransportTls, RefusesACertificateThatDoesNotHaveTheAddress) {
  const auto why = refusal(where(), tls_peer(certificates::named_server));
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_THAT(why.detail(), HasSubstr("IP address mismatch, it is not for '127.0.0.1'"));
}

TEST_F(TransportTls, RefusesACertificateThatIsOver) {
  const auto why = refusal(where(), tls_peer(certificates::expired_server));
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_THAT(why.detail(), HasSubstr("certificate has expired"));
}

TEST_F(TransportTls, RefusesACertificateThatSignedItself) {
  const auto why = refusal(where(), tls_peer(certificates::self_signed));
  EXPECT_EQ(why.code(), errc::access_denied);
  EXPECT_THAT(why.detail(), HasSubstr("self-signed certificate"));
}

TEST_F(TransportTls, TrustsWhomTheSystemTrustsIfNothingElseIsSaid) {
  endpoint at = where();
  at.tls->ca_file.clear();
  EXPECT_EQ(refusal(at, tls_peer(certificates::server)).code(), errc::access_denied);

  ::setenv("SSL_CERT_FILE", files().pem(certificates::ca).c_str(), 1);
  events_ = std::make_shared<recorder>();
  const auto link = open(at);
  tls_peer peer(certificates::server);
  EXPECT_TRUE(peer.accept(server_));
  EXPECT_TRUE(opened());
  ::unsetenv("SSL_CERT_FILE");
}

// ---- who does not trust us -----------------------------------------------------------------------------------------

TEST_F(TransportTls, ShowsItsOwnCertificate) {
  const auto link = open(with_certificate(certificates::client));
  tls_peer peer(certificates::server, certificates::ca);
  ASSERT_TRUE(peer.accept(server_));
  EXPECT_TRUE(opened());
}

TEST_F(TransportTls, SaysThatTheServerWantsACertificate) {
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    events_ = std::make_shared<recorder>();
    const auto link = open(where());
    tls_peer peer(certificates::server, certificates::ca, version);
    EXPECT_FALSE(peer.accept(server_));
    EXPECT_EQ(end().code(), errc::access_denied);
    EXPECT_THAT(end().detail(), HasSubstr("wants a certificate of ours, and none is configured"));
  }
}

TEST_F(TransportTls, SaysThatTheServerDoesNotAcceptItsCertificate) {
  const auto link = open(with_certificate(certificates::other_client));
  tls_peer peer(certificates::server, certificates::ca);
  EXPECT_FALSE(peer.accept(server_));
  EXPECT_EQ(end().code(), errc::access_denied);
  EXPECT_THAT(end().detail(), HasSubstr("does not accept our certificate: "));
}

// ---- what cannot be used -------------------------------------------------------------------------------------------

TEST_F(TransportTls, NamesTheFileThatCannotBeRead) {
  endpoint at = where();
  at.tls->ca_file = directory_.file("none.pem");
  expect_misconfigured(at, at.tls->ca_file, "No such file or directory");
}

TEST_F(TransportTls, NamesTheFileThatHasNoCertificates) {
  endpoint at = where();
  at.tls->ca_file = directory_.file("garbled.pem");
  std::ofstream(at.tls->ca_file) << "this is not PEM\n";
  expect_misconfigured(at, at.tls->ca_file, "no certificate or crl found");
}

TEST_F(TransportTls, NamesTheCertificateThatIsNone) {
  endpoint at = with_certificate(certificates::client);
  at.tls->cert_file = directory_.file("garbled.pem");
  std::ofstream(at.tls->cert_file) << "this is not PEM\n";
  expect_misconfigured(at, at.tls->cert_file, "there is no PEM in it");
}

TEST_F(TransportTls, NamesTheKeyThatBelongsToAnotherCertificate) {
  endpoint at = with_certificate(certificates::client);
  at.tls->key_file = files().key(certificates::other_client);
  expect_misconfigured(at, at.tls->key_file, "key values mismatch");
}

TEST_F(TransportTls, AsksNobodyForThePasswordOfAKey) {
  const endpoint at = with_certificate(certificates::encrypted);
  expect_misconfigured(at, at.tls->key_file, "it is encrypted");
}

TEST_F(TransportTls, SaysThatAServerAnswersSomethingElse) {
  const auto link = open(where());
  const auto peer = server_.accept();
  write_all(peer, "-ERR Protocol error, got something else\r\n");
  EXPECT_EQ(end().code(), errc::protocol_error);
  EXPECT_THAT(end().detail(), HasSubstr(server_.where().shown() + " does not seem to speak TLS"));
}

TEST_F(TransportTls, SaysThatAServerClosedInsteadOfAnswering) {
  const auto link = open(where());
  const auto hello = test::read_exactly(server_.accept(), 5);
  EXPECT_EQ(end().code(), errc::unreachable);
  EXPECT_THAT(end().detail(), HasSubstr("perhaps it does not speak TLS"));
}

}  // namespace
}  // namespace cremone::test
