// SPDX-License-Identifier: Apache-2.0
#include "support/certificates.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string_view>

namespace cremone::test {
namespace {

const std::string new_key = " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
constexpr std::string_view both_names = "DNS:localhost,IP:127.0.0.1";

struct recipe {
  std::string_view name;
  std::string_view signer;  // none: itself
  std::string_view names;
  int days = 2;
};

constexpr std::array recipes = {
    recipe{certificates::ca, "", ""},
    recipe{certificates::other_ca, "", ""},
    recipe{certificates::server, certificates::ca, both_names},
    recipe{certificates::named_server, certificates::ca, "DNS:localhost"},
    recipe{certificates::expired_server, certificates::ca, both_names, -1},
    recipe{certificates::self_signed, "", both_names},
    recipe{certificates::client, certificates::ca, "DNS:client"},
    recipe{certificates::other_client, certificates::other_ca, "DNS:client"},
    recipe{certificates::encrypted, certificates::ca, "DNS:client"},
};

}  // namespace

std::string certificates::made(const std::string& name, const char* ending) const {
  const auto* const how =
      std::find_if(recipes.begin(), recipes.end(), [&](const recipe& r) { return r.name == name; });
  if (how != recipes.end() && !std::filesystem::exists(file(name + ".pem"))) {
    if (!how->signer.empty()) {
      (void)pem(std::string(how->signer));
    }
    make(name, std::string(how->signer), std::string(how->names), how->days);
    if (name == encrypted) {
      run("ec -in encrypted.key -aes128 -passout pass:secret -out locked && mv locked encrypted.key");
    }
  }
  return file(name + ending);
}

void certificates::make(const std::string& name, const std::string& signer, const std::string& names,
                        int days) const {
  const std::string files = " -keyout " + name + ".key -subj /CN=" + name +
                            (names.empty() ? "" : " -addext subjectAltName=" + names);
  if (signer.empty()) {
    run("req -x509 -days 2" + new_key + files + " -out " + name + ".pem");
    return;
  }
  run("req -new" + new_key + files + " -out " + name + ".csr");
  run("x509 -req -copy_extensions copy -in " + name + ".csr -CA " + signer + ".pem -CAkey " + signer +
      ".key -days " + std::to_string(days) + " -out " + name + ".pem");
}

void certificates::run(const std::string& arguments) const {
  const std::string command = "cd '" + directory_.path() + "' && { openssl " + arguments + "; } >log 2>&1";
  if (std::system(command.c_str()) != 0) {
    throw std::runtime_error("openssl failed, is it installed? " + command);
  }
}

}  // namespace cremone::test
