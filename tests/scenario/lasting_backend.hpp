// SPDX-License-Identifier: Apache-2.0
//
// A store that later processes find again: one in memory, with an identity. It changes nothing else.
#pragma once

#include "scenario/forwarding_backend.hpp"

#include <memory>
#include <string>
#include <utility>

namespace cremone::test {

class lasting_backend final : public forwarding_backend {
 public:
  lasting_backend(std::shared_ptr<backend> to, std::string identity)
      : forwarding_backend(std::move(to)), identity_(std::move(identity)) {}

  [[nodiscard]] traits describe() const override {
    traits t = forwarding_backend::describe();
    t.identity = identity_;
    return t;
  }

 private:
  const std::string identity_;
};

}  // namespace cremone::test
