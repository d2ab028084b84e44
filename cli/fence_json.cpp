// SPDX-License-Identifier: Apache-2.0
#include "cli/fence_json.hpp"

#include <nlohmann/json.hpp>

namespace cremone::cli {

namespace {

using json = nlohmann::ordered_json;

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

json token_or_null(fence_token token) { return token == fence_token() ? json() : json(token.value()); }

std::string line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string show_json(const fenced_subject& subject, fence_token highest) {
  return line({{"resource", subject.name()},
               {"store", text_or_null(subject.store())},
               {"highest", token_or_null(highest)}});
}

std::string check_json(const fenced_subject& subject, fence_token presented, bool passed,
                       const result<fence_token>& highest) {
  return line({{"resource", subject.name()},
               {"store", text_or_null(subject.store())},
               {"token", presented.value()},
               {"passed", passed},
               {"highest", highest ? token_or_null(*highest) : json()}});
}

std::string init_json(const std::string& store, const std::string& table,
                      const std::optional<std::string>& statement, bool done) {
  return line({{"store", text_or_null(store)},
               {"needed", statement.has_value()},
               {"table", statement ? json(table) : json()},
               {"statement", statement ? json(*statement) : json()},
               {"done", done}});
}

}  // namespace cremone::cli
