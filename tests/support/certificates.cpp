// SPDX-License-Identifier: Apache-2.0
#include "support/certificates.hpp"

#include "support/program.hpp"

#include <fstream>
#include <stdexcept>
#include <vector>

namespace cremone::test {

namespace {

/// Everything is said here, so that the system's own openssl.cnf plays no part.
constexpr const char* config = R"([req]
distinguished_name = name
prompt = no
[name]
CN = cremone test
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = CA:FALSE
keyUsage = digitalSignature
subjectAltName = IP:127.0.0.1, DNS:server.test
)";

void openssl(std::vector<std::string> words) {
  const std::vector<std::string> key = {
      "openssl", "req",   "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-nodes",  "-days", "2"};
  words.insert(words.begin(), key.begin(), key.end());
  // Its standard error is a row of dots and dashes when all is well.
  words.insert(words.begin(), {"sh", "-c", "exec \"$@\" 2>&1", "sh"});
  program tool(words);
  if (tool.wait() != 0) {
    throw std::runtime_error("openssl cannot make a certificate: " + tool.hear());
  }
}

}  // namespace

certificates::certificates(const std::string& directory)
    : ca(directory + "/ca.pem"),
      server_cert(directory + "/server.pem"),
      server_key(directory + "/server.key"),
      client_cert(directory + "/client.pem"),
      client_key(directory + "/client.key"),
      other_ca(directory + "/other-ca.pem") {
  const std::string settings = directory + "/openssl.cnf";
  std::ofstream(settings) << config;
  const std::string ca_key = directory + "/ca.key";
  const auto authority = [&](const std::string& cert, const std::string& key, const std::string& name) {
    openssl({"-config", settings, "-extensions", "authority", "-subj", name, "-keyout", key, "-out", cert});
  };
  const auto leaf = [&](const std::string& cert, const std::string& key, const std::string& name) {
    openssl({"-config", settings, "-extensions", "leaf", "-subj", name, "-CA", ca, "-CAkey", ca_key,
             "-keyout", key, "-out", cert});
  };
  authority(ca, ca_key, "/CN=cremone test authority");
  authority(other_ca, directory + "/other-ca.key", "/CN=another authority");
  leaf(server_cert, server_key, "/CN=server.test");
  leaf(client_cert, client_key, "/CN=client.test");
}

}  // namespace cremone::test
