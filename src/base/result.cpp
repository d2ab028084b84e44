// SPDX-License-Identifier: Apache-2.0
//
// The one table of errors: name, sentence, and the std condition each corresponds to.
#include <cremone/result.hpp>

#include <array>
#include <ostream>

namespace cremone {

namespace {

struct entry {
  errc code;
  std::string_view name;
  std::string_view sentence;
  std::errc condition;
};

constexpr std::array table = {
    entry{errc::busy, "busy", "somebody else holds the lock", std::errc::device_or_resource_busy},
    entry{errc::timed_out, "timed_out", "the wait for the lock is over", std::errc::timed_out},
    entry{errc::cancelled, "cancelled", "the call was cancelled", std::errc::operation_canceled},
    entry{errc::lost, "lost", "the lease is over", std::errc::owner_dead},
    entry{errc::not_held, "not_held", "there is no lease to act on", std::errc::operation_not_permitted},
    entry{errc::stale_token, "stale_token", "a higher fence token was seen",
          std::errc::operation_not_permitted},
    entry{errc::unreachable, "unreachable", "the store cannot be reached", std::errc::host_unreachable},
    entry{errc::outcome_unknown, "outcome_unknown", "the store did not answer", std::errc::io_error},
    entry{errc::quarantined, "quarantined", "the store lost memory and does not grant yet",
          std::errc::resource_unavailable_try_again},
    entry{errc::access_denied, "access_denied", "the store denies access", std::errc::permission_denied},
    entry{errc::storage_error, "storage_error", "the store cannot keep the lock", std::errc::io_error},
    entry{errc::misconfigured, "misconfigured", "the store is not set up safely", std::errc::not_supported},
    entry{errc::unsupported, "unsupported", "not supported here", std::errc::not_supported},
    entry{errc::invalid_argument, "invalid_argument", "the input is not valid", std::errc::invalid_argument},
    entry{errc::protocol_error, "protocol_error", "the store's answer makes no sense",
          std::errc::protocol_error},
};

static_assert([] {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].code) != i + 1) {
      return false;
    }
  }
  return static_cast<std::size_t>(errc::protocol_error) == table.size();
}());

constexpr entry nothing{errc{}, "no_error", "no error", std::errc{}};

const entry& look_up(int code) noexcept {
  const auto index = static_cast<std::size_t>(code) - 1;
  return index < table.size() ? table[index] : nothing;
}

class category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "cremone"; }
  [[nodiscard]] std::string message(int code) const override { return std::string(look_up(code).sentence); }
  [[nodiscard]] std::error_condition default_error_condition(int code) const noexcept override {
    return std::make_error_condition(look_up(code).condition);
  }
};

}  // namespace

std::string_view to_string(errc code) noexcept { return look_up(static_cast<int>(code)).name; }

const std::error_category& error_category() noexcept {
  static const category the_one;
  return the_one;
}

std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), error_category()}; }

std::string error::message() const {
  std::string out(to_string(code_));
  out += ": ";
  out += detail_.empty() ? look_up(static_cast<int>(code_)).sentence : std::string_view(detail_);
  return out;
}

std::ostream& operator<<(std::ostream& out, const error& e) { return out << e.message(); }

lock_error::lock_error(const error& e)
    : std::system_error(make_error_code(e.code())), why_(e), text_(e.message()) {}

void throw_exception_from_error(const error& e, const boost::source_location& /*where*/) {
  throw lock_error(e);
}

}  // namespace cremone
