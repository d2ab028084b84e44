// SPDX-License-Identifier: Apache-2.0
#include "base/password.hpp"

#include "base/text.hpp"

#include <cstdlib>
#include <fstream>

namespace cremone {

namespace {

constexpr std::size_t longest_password = 4096;

std::string option(const url& u, const std::string& key) {
  const auto found = u.options.find(key);
  return found == u.options.end() ? std::string() : found->second;
}

/// One line, without its line break.
result<std::string> read_password(const std::string& file, const std::string& by) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  if (!in || !std::getline(in, line)) {
    return error(errc::misconfigured,
                 "no password can be read from the file " + printable(file) + " of ?" + by + "=");
  }
  if (!line.empty() && line.back() == '\r') {
    line.pop_back();
  }
  if (line.empty() || line.size() > longest_password) {
    return error(errc::misconfigured, "the first line of the file " + printable(file) + " of ?" + by +
                                          "= is not a password: it has " + std::to_string(line.size()) +
                                          " bytes");
  }
  return line;
}

}  // namespace

result<std::string> password_of(const url& u, const std::string& whose, const std::string& in_the_url) {
  const std::string by_file = whose + "password_file";
  const std::string by_variable = whose + "password_env";
  const std::string file = option(u, by_file);
  const std::string variable = option(u, by_variable);
  if ((in_the_url.empty() ? 0 : 1) + (file.empty() ? 0 : 1) + (variable.empty() ? 0 : 1) > 1) {
    return error(errc::invalid_argument, "the URL gives more than one password: " +
                                             std::string(whose.empty() ? "in itself, by ?" : "by ?") +
                                             by_file + "= or by ?" + by_variable + "=; keep one");
  }
  if (!file.empty()) {
    return read_password(file, by_file);
  }
  if (!variable.empty()) {
    const char* const value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') {
      return error(errc::misconfigured, "the environment variable " + printable(variable) + " of ?" +
                                            by_variable + "= is not set");
    }
    return std::string(value);
  }
  return in_the_url;
}

}  // namespace cremone
