// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL between two buffers in memory. Its own I/O is not used: a write to a socket by OpenSSL raises SIGPIPE where
// the peer is gone, and only buffers let any thread send while another one reads.
#include "base/tls_session.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <mutex>
#include <system_error>
#include <utility>

namespace cremone::detail {
namespace {

struct context_deleter {
  void operator()(SSL_CTX* context) const noexcept { ::SSL_CTX_free(context); }
};
using context_ptr = std::unique_ptr<SSL_CTX, context_deleter>;

struct ssl_deleter {
  void operator()(SSL* ssl) const noexcept { ::SSL_free(ssl); }
};
using ssl_ptr = std::unique_ptr<SSL, ssl_deleter>;

std::string text_of(unsigned long code) {
  if (ERR_SYSTEM_ERROR(code)) {
    return std::generic_category().message(ERR_GET_REASON(code));
  }
  if (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE) {
    return "there is no PEM in it";
  }
  const char* const reason = ::ERR_reason_error_string(code);
  return reason != nullptr ? reason : "error " + std::to_string(code) + " of OpenSSL";
}

/// The first of the errors that led to a failure is its cause.
error cannot_use(const std::string& what, const std::string& file) {
  return {errc::misconfigured, "cannot use the " + what + " '" + file + "': " + text_of(::ERR_peek_error())};
}

/// OpenSSL would ask at the terminal.
int no_password(char* /*room*/, int /*size*/, int /*writing*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

result<void> load_own_certificate(SSL_CTX* context, const tls_settings& settings) {
  if (::SSL_CTX_use_certificate_chain_file(context, settings.cert_file.c_str()) != 1) {
    return cannot_use("certificate file", settings.cert_file);
  }
  const auto& key_file = settings.key_file.empty() ? settings.cert_file : settings.key_file;
  bool asked_for_password = false;
  ::SSL_CTX_set_default_passwd_cb(context, no_password);
  ::SSL_CTX_set_default_passwd_cb_userdata(context, &asked_for_password);
  const int loaded = ::SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM);
  ::SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  if (asked_for_password) {
    return error{errc::misconfigured,
                 "cannot use the key file '" + key_file + "': it is encrypted, and nobody can be asked"};
  }
  if (loaded != 1) {
    return cannot_use("key file", key_file);
  }
  return {};
}

result<context_ptr> make_context(const tls_settings& settings) {
  // Without OpenSSL's cleaning up at exit: it would come before the end of a client that lives until then.
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  ::ERR_clear_error();
  context_ptr context(::SSL_CTX_new(::TLS_client_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return error{errc::misconfigured, "OpenSSL cannot be used: " + text_of(::ERR_peek_error())};
  }
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (settings.ca_file.empty()) {
    ::SSL_CTX_set_default_verify_paths(context.get());
  } else if (::SSL_CTX_load_verify_file(context.get(), settings.ca_file.c_str()) != 1) {
    return cannot_use("CA file", settings.ca_file);
  }
  if (!settings.cert_file.empty() || !settings.key_file.empty()) {
    if (auto loaded = load_own_certificate(context.get(), settings); !loaded) {
      return loaded.error();
    }
  }
  return context;
}

/// The certificate must be for this name, or for this address.
bool expect_name(SSL* ssl, std::string name) {
  if (::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), name.c_str()) == 1) {
    return true;
  }
  ::SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return ::SSL_set1_host(ssl, name.c_str()) == 1 &&
         ::SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) == 1;
}

bool is_about_our_certificate(int alert) {
  switch (alert) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED: return true;
    default: return false;
  }
}

/// What OpenSSL says of bytes that no TLS begins with.
bool is_not_tls(int reason) {
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
         reason == SSL_R_HTTP_REQUEST || reason == SSL_R_BAD_PACKET_LENGTH ||
         reason == SSL_R_UNEXPECTED_MESSAGE || reason == SSL_R_BAD_RECORD_TYPE;
}

}  // namespace

class tls_session::session {
 public:
  session(ssl_ptr ssl, const endpoint& where, std::string name)
      : ssl_(std::move(ssl)),
        place_(where.shown()),
        name_(std::move(name)),
        has_certificate_(!where.tls->cert_file.empty() || !where.tls->key_file.empty()) {}

  /// False when there is no memory.
  [[nodiscard]] bool prepare() {
    in_ = ::BIO_new(::BIO_s_mem());
    out_ = ::BIO_new(::BIO_s_mem());
    if (in_ == nullptr || out_ == nullptr) {
      ::BIO_free(in_);
      ::BIO_free(out_);
      return false;
    }
    ::SSL_set_bio(ssl_.get(), in_, out_);  // which has them from now on
    ::SSL_set_cert_cb(ssl_.get(), note_request, this);
    ::SSL_set_connect_state(ssl_.get());
    return expect_name(ssl_.get(), name_);
  }

  void take(std::string_view bytes, std::string& plain) {
    const std::lock_guard lock(mutex_);
    if (ended_) {
      return;
    }
    ::ERR_clear_error();
    std::size_t taken = 0;
    if (!bytes.empty()) {
      ::BIO_write_ex(in_, bytes.data(), bytes.size(), &taken);  // into memory: all of it
    }
    if (established_ || agree()) {
      read_all(plain);
    }
    wants_to_send_ = ::BIO_ctrl_pending(out_) > 0;
  }

  bool seal(std::string_view plain, std::string& sealed) {
    const std::lock_guard lock(mutex_);
    ::ERR_clear_error();
    std::size_t taken = 0;
    bool done = plain.empty();
    if (!done && !ended_) {
      done = ::SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &taken) == 1;
      if (!done) {
        note_failure(0);
      }
    }
    const std::size_t before = sealed.size();
    sealed.resize(before + ::BIO_ctrl_pending(out_));
    if (sealed.size() > before) {
      ::BIO_read_ex(out_, sealed.data() + before, sealed.size() - before, &taken);
    }
    wants_to_send_ = false;
    return done;
  }

  [[nodiscard]] bool wants_to_send() const noexcept { return wants_to_send_; }
  [[nodiscard]] bool established() const noexcept { return established_; }

  [[nodiscard]] std::optional<error> ended() const {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

 private:
  static int note_request(SSL* /*ssl*/, void* self) {
    static_cast<session*>(self)->certificate_requested_ = true;
    return 1;
  }

  bool agree() {
    const int done = ::SSL_do_handshake(ssl_.get());
    if (done != 1) {
      note_failure(done);
      return false;
    }
    established_ = true;
    return true;
  }

  void read_all(std::string& plain) {
    char piece[SSL3_RT_MAX_PLAIN_LENGTH];
    std::size_t count = 0;
    while (::SSL_read_ex(ssl_.get(), piece, sizeof piece, &count) == 1) {
      plain.append(piece, count);
    }
    note_failure(0);
  }

  void note_failure(int answer) {
    switch (::SSL_get_error(ssl_.get(), answer)) {
      case SSL_ERROR_WANT_READ: return;
      case SSL_ERROR_ZERO_RETURN:
        ended_.emplace(errc::unreachable, place_ + " closed the connection");
        return;
      default: ended_ = explain(::ERR_peek_error());
    }
  }

  [[nodiscard]] error explain(unsigned long code) const {
    const std::string text = text_of(code);
    const int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;
    const int alert = reason > SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : 0;
    if (const long verdict = ::SSL_get_verify_result(ssl_.get()); !established_ && verdict != X509_V_OK) {
      return not_accepted(verdict);
    }
    if (is_about_our_certificate(alert) && has_certificate_) {
      return {errc::access_denied, place_ + " does not accept our certificate: " + text};
    }
    // Before TLS 1.3 there was no alert of its own for a missing certificate.
    const bool missed = certificate_requested_ && !has_certificate_ && alert == SSL_AD_HANDSHAKE_FAILURE;
    if (is_about_our_certificate(alert) || missed) {
      return {errc::access_denied,
              place_ + " wants a certificate of ours, and none is configured (" + text + ")"};
    }
    if (!established_ && is_not_tls(reason)) {
      return {errc::protocol_error, place_ + " does not seem to speak TLS (" + text + ")"};
    }
    return {errc::protocol_error, "TLS with " + place_ + " failed: " + text};
  }

  [[nodiscard]] error not_accepted(long verdict) const {
    std::string why = ::X509_verify_cert_error_string(verdict);
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH) {
      why += ", it is not for '" + name_ + "'";
    }
    return {errc::access_denied, "the certificate of " + place_ + " is not accepted: " + why};
  }

  mutable std::mutex mutex_;
  ssl_ptr ssl_;
  BIO* in_ = nullptr;   // ssl_'s
  BIO* out_ = nullptr;  // the same
  const std::string place_;
  const std::string name_;
  const bool has_certificate_;
  bool certificate_requested_ = false;
  std::optional<error> ended_;

  std::atomic<bool> established_ = false;
  std::atomic<bool> wants_to_send_ = false;
};

tls_session::tls_session(std::unique_ptr<session> made) noexcept : session_(std::move(made)) {}
tls_session::~tls_session() = default;

result<std::unique_ptr<tls_session>> tls_session::make(const endpoint& where) {
  const auto& settings = *where.tls;
  auto name = settings.server_name.empty() ? where.host : settings.server_name;
  if (name.empty()) {
    return error{errc::misconfigured, "TLS at " + where.shown() + " needs the server's name, to check it"};
  }
  auto context = make_context(settings);
  if (!context) {
    return context.error();
  }
  ssl_ptr ssl(::SSL_new(context->get()));
  if (ssl) {
    auto made = std::make_unique<session>(std::move(ssl), where, name);
    if (made->prepare()) {
      return std::unique_ptr<tls_session>(new tls_session(std::move(made)));
    }
  }
  return error{errc::misconfigured,
               "TLS with the server name '" + name + "' cannot be begun: " + text_of(::ERR_peek_error())};
}

void tls_session::take(std::string_view bytes, std::string& plain) { session_->take(bytes, plain); }
bool tls_session::seal(std::string_view plain, std::string& sealed) { return session_->seal(plain, sealed); }
bool tls_session::wants_to_send() const noexcept { return session_->wants_to_send(); }
bool tls_session::established() const noexcept { return session_->established(); }
std::optional<error> tls_session::ended() const { return session_->ended(); }

}  // namespace cremone::detail
