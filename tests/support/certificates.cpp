// SPDX-License-Identifier: Apache-2.0
#include "support/certificates.hpp"

#include <cstdlib>
#include <stdexcept>

namespace cremone::test {
namespace {

const std::string new_key = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
const std::string both_names = "DNS:localhost,IP:127.0.0.1";

}  // namespace

certificates::certificates() {
  make(ca, "", "");
  make(other_ca, "", "");
  make(server, ca, both_names);
  make(named_server, ca, "DNS:localhost");
  make(expired_server, ca, both_names, -1);
  make(self_signed, "", both_names);
  make(client, ca, "DNS:client");
  make(other_client, other_ca, "DNS:client");
  make(encrypted, ca, "DNS:client");
  run("ec -in encrypted.key -aes128 -passout pass:secret -out locked && mv locked encrypted.key");
}

void certificates::make(const char* name, const std::string& signer, const std::string& names,
                        int days) const {
  const std::string files = " -keyout " + std::string(name) + ".key -subj /CN=" + name +
                            (names.empty() ? "" : " -addext subjectAltName=" + names);
  if (signer.empty()) {
    run("req -x509 -days 2" + new_key + files + " -out " + name + ".pem");
    return;
  }
  run("req -new" + new_key + files + " -out " + name + ".csr");
  run("x509 -req -copy_extensions copy -in " + std::string(name) + ".csr -CA " + signer + ".pem -CAkey " +
      signer + ".key -days " + std::to_string(days) + " -out " + name + ".pem");
}

void certificates::run(const std::string& arguments) const {
  const std::string command = "cd '" + directory_.path() + "' && { openssl " + arguments + "; } >log 2>&1";
  if (std::system(command.c_str()) != 0) {
    throw std::runtime_error("openssl failed, is it installed? " + command);
  }
}

}  // namespace cremone::test
