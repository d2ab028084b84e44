// SPDX-License-Identifier: Apache-2.0
#include "engine/tls_session.hpp"

namespace cremone::detail {

class tls_session::session {};

tls_session::tls_session(std::unique_ptr<session> made) noexcept : session_(std::move(made)) {}
tls_session::~tls_session() = default;

result<std::unique_ptr<tls_session>> tls_session::make(const endpoint& /*where*/) {
  return error{errc::unsupported, "TLS is not there yet"};
}
void tls_session::take(std::string_view /*bytes*/, std::string& /*plain*/) {}
void tls_session::seal(std::string_view /*plain*/, std::string& /*sealed*/) {}
bool tls_session::wants_to_send() const noexcept { return false; }
bool tls_session::established() const noexcept { return false; }
std::optional<error> tls_session::ended() const { return {}; }

}  // namespace cremone::detail
