// SPDX-License-Identifier: Apache-2.0
//
// Certificates for the tests of TLS, made by the `openssl` program. Knows nothing of who uses them.
#pragma once

#include "support/temp_directory.hpp"

#include <string>

namespace cremone::test {

/// PEM files in a directory of their own, gone with it, each made when it is first asked for. A failure of the program is
/// thrown. For one thread.
class certificates {
 public:
  [[nodiscard]] std::string file(const std::string& name) const { return directory_.file(name); }

  // Each has NAME.pem and NAME.key. The first two are authorities, the others are signed by `ca` unless it is said.
  static constexpr const char* ca = "ca";
  static constexpr const char* other_ca = "other_ca";
  static constexpr const char* server = "server";            ///< localhost, 127.0.0.1
  static constexpr const char* named_server = "named";       ///< localhost only
  static constexpr const char* expired_server = "expired";   ///< localhost, 127.0.0.1, until yesterday
  static constexpr const char* self_signed = "self_signed";  ///< localhost, 127.0.0.1
  static constexpr const char* client = "client";
  static constexpr const char* other_client = "other_client";  ///< signed by other_ca
  static constexpr const char* encrypted = "encrypted";        ///< a client whose key wants a password

  [[nodiscard]] std::string pem(const std::string& name) const { return made(name, ".pem"); }
  [[nodiscard]] std::string key(const std::string& name) const { return made(name, ".key"); }

 private:
  [[nodiscard]] std::string made(const std::string& name, const char* ending) const;
  void make(const std::string& name, const std::string& signer, const std::string& names, int days) const;
  void run(const std::string& arguments) const;

  temp_directory directory_;
};

}  // namespace cremone::test
