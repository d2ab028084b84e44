// SPDX-License-Identifier: Apache-2.0
#include "base/url.hpp"

#include "base/suggest.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace cremone {

namespace {

error bad(std::string detail) { return {errc::invalid_argument, std::move(detail)}; }

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return static_cast<unsigned>(c - '0');
  }
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') {
    return static_cast<unsigned>(lower - 'a') + 10U;
  }
  return std::nullopt;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) {
      return std::nullopt;
    }
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low) {
      return std::nullopt;
    }
    out += static_cast<char>(*high * 16U + *low);
    i += 2;
  }
  return out;
}

bool valid_scheme(std::string_view s) {
  const auto alpha = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !s.empty() && alpha(s.front()) && std::all_of(s.begin(), s.end(), [&](char c) {
    return alpha(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
}

result<void> parse_options(std::string_view query, url& into) {
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) {
      continue;
    }
    const auto equals = pair.find('=');
    auto key = percent_decode(pair.substr(0, equals));
    auto value =
        percent_decode(equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1));
    if (!key || !value) {
      return bad("the URL's option '" + std::string(pair.substr(0, equals)) +
                 "' has a '%' that is not followed by two hex digits");
    }
    if (key->empty()) {
      return bad("the URL has an option without a name; options are written key=value");
    }
    if (!into.options.emplace(*key, std::move(*value)).second) {
      return bad("the URL's option '" + printable(*key) + "' stands there twice");
    }
  }
  return {};
}

/// Splits off "user:password@", which may contain anything but '@' and '/' unless percent-encoded.
result<std::string_view> parse_user(std::string_view authority, url& into) {
  const auto at = authority.rfind('@');
  if (at == std::string_view::npos) {
    return authority;
  }
  const std::string_view userinfo = authority.substr(0, at);
  into.bare_at = userinfo.find('@') != std::string_view::npos;
  const auto colon = userinfo.find(':');
  auto user = percent_decode(userinfo.substr(0, colon));
  auto password =
      percent_decode(colon == std::string_view::npos ? std::string_view{} : userinfo.substr(colon + 1));
  if (!user || !password) {
    return bad("the URL's user or password has a '%' that is not followed by two hex digits");
  }
  into.user = std::move(*user);
  into.password = std::move(*password);
  return authority.substr(at + 1);
}

}  // namespace

result<url> parse_url(std::string_view text) {
  const auto colon = text.find("://");
  if (colon == std::string_view::npos || !valid_scheme(text.substr(0, colon))) {
    // With an '@' it may be a URL without its scheme, and then a password stands before the '@'.
    if (text.starts_with('/') && text.find('@') == std::string_view::npos) {
      return bad("a store is named by a URL; for the file " + printable(text) + " that is sqlite://" +
                 url_path(text));
    }
    return bad("the store's URL must look like scheme://…, for example sqlite:///srv/locks/team.db");
  }
  if (find_control(text) != std::string_view::npos) {
    return bad("the store's URL contains a control character");
  }
  if (text.find('#') != std::string_view::npos) {
    return bad("the store's URL contains a '#'; write %23 for it");
  }

  url out;
  out.scheme = text.substr(0, colon);
  std::transform(out.scheme.begin(), out.scheme.end(), out.scheme.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });

  std::string_view rest = text.substr(colon + 3);
  const auto host_end = rest.find_first_of("/?");
  if (host_end != 0 && host_end != std::string_view::npos &&
      rest.find('@', host_end) != std::string_view::npos) {
    // Most likely a password with a bare '/' or '?'. Taken as written, parts of it would show up in messages.
    return bad(
        "the URL has an '@' behind its first '/' or '?'; in a user or password write %2F and %3F for those, "
        "elsewhere %40 for the '@'");
  }
  const auto question = rest.find('?');
  if (question != std::string_view::npos) {
    if (auto parsed = parse_options(rest.substr(question + 1), out); !parsed) {
      return parsed.error();
    }
    rest = rest.substr(0, question);
  }
  const auto slash = rest.find('/');
  if (slash != std::string_view::npos) {
    auto path = percent_decode(rest.substr(slash));
    if (!path) {
      return bad("the URL's path has a '%' that is not followed by two hex digits");
    }
    out.path = std::move(*path);
    rest = rest.substr(0, slash);
  }
  auto authority = parse_user(rest, out);
  if (!authority) {
    return authority.error();
  }
  if (!percent_decode(*authority)) {
    return bad("the URL's host has a '%' that is not followed by two hex digits");
  }
  out.authority = *authority;
  return out;
}

std::string url::shown() const { return scheme + "://" + authority + printable(path); }

result<void> url::allow_only(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : options) {
    if (std::find(known.begin(), known.end(), key) != known.end()) {
      continue;
    }
    std::string message = scheme + ":// has no option '" + printable(key) + "'";
    if (known.size() == 0) {
      message += "; it takes none";
    } else if (const std::string_view meant = closest(key, known); !meant.empty()) {
      message += "; did you mean '" + std::string(meant) + "'?";
    } else {
      const char* before = "; there are ";
      for (const std::string_view name : known) {
        message += before;
        message += name;
        before = ", ";
      }
    }
    return bad(std::move(message));
  }
  return {};
}

std::string url_path(std::string_view path) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_' || c == '~' || c == '+' || c == ',' ||
                       byte >= 0xA0U;
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += digits[byte >> 4U];
      out += digits[byte & 0xFU];
    }
  }
  return out;
}

}  // namespace cremone
