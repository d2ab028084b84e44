// SPDX-License-Identifier: Apache-2.0
//
// The network of the fuzzer: connections to a server that answers whatever it is asked with the next part of a text. Knows
// the seam to the network and virtual time; no protocol but the answer to a proper greeting.
#pragma once

#include "base/transport.hpp"
#include "support/manual_env.hpp"

#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace cremone::fuzz {

struct manners {
  bool greets = true;               ///< the first thing said on a connection is answered as Redis does
  std::size_t piece = 0;            ///< bytes that arrive at a time; 0: all at once
  bool closes = false;              ///< hangs up when there is nothing more to say
  std::deque<std::string> parts{};  ///< what it says
};

class talkative_server final : public transport {
 public:
  talkative_server(std::shared_ptr<test::manual_env> e, manners m)
      : env_(std::move(e)), manners_(std::move(m)) {}

  [[nodiscard]] std::shared_ptr<connection> open(const endpoint& where,
                                                 std::weak_ptr<connection_events> events) override;

 private:
  class line;

  void asked(const std::shared_ptr<line>& on);
  void say(const std::shared_ptr<line>& on, const std::string& text);

  const std::shared_ptr<test::manual_env> env_;
  manners manners_;
};

}  // namespace cremone::fuzz
