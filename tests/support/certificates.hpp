// SPDX-License-Identifier: Apache-2.0
//
// Certificates for tests of TLS, made by the `openssl` tool: an authority, a server on the loopback, a client, and an
// authority that signed neither.
#pragma once

#include <string>

namespace cremone::test {

/// Files in PEM. Throws when they cannot be made, which fails the test.
struct certificates {
  /// `directory` must exist, and outlive the use of the files.
  explicit certificates(const std::string& directory);

  std::string ca;
  std::string server_cert;  ///< for 127.0.0.1 and for "server.test"
  std::string server_key;
  std::string client_cert;
  std::string client_key;
  std::string other_ca;  ///< signed none of these
};

}  // namespace cremone::test
