// SPDX-License-Identifier: Apache-2.0
#include "support/blocking_backend.hpp"

#include "support/pending.hpp"

#include <utility>

namespace cremone::test {

namespace {

error no_answer() { return {errc::outcome_unknown, "the backend did not answer"}; }

}  // namespace

blocking_backend::blocking_backend(std::shared_ptr<env> e, std::shared_ptr<backend> b)
    : env_(std::move(e)), backend_(std::move(b)), traits_(backend_->describe()) {}

blocking_backend::~blocking_backend() {
  backend_->close();
  env_->stop();
}

/// `kept`: the request, which must live until the answer, even one that comes when the test has given up.
template <class T, class Call>
T blocking_backend::ask(const char* what, T otherwise, std::shared_ptr<const void> kept, Call&& call) {
  pending<T> answer(what);
  std::forward<Call>(call)(answer.reply(std::move(kept)));
  if (traits_.answers_inline) {
    EXPECT_TRUE(answer.answered_here()) << what << " returned without an answer on the caller's thread";
  }
  return answer.get(std::move(otherwise));
}

acquire_answer blocking_backend::try_acquire(const acquire_request& request) {
  const auto kept = std::make_shared<const acquire_request>(request);
  return ask<acquire_answer>("try_acquire", unknown{no_answer()}, kept,
                             [&](auto reply) { backend_->try_acquire(*kept, std::move(reply)); });
}

std::vector<answer> blocking_backend::renew(const std::vector<renewal>& items) {
  struct batch {
    std::vector<lock_name> names;
    std::vector<renewal> items;
  };
  const auto kept = std::make_shared<batch>();
  kept->names.reserve(items.size());
  for (const renewal& item : items) {
    kept->names.push_back(*item.name);
    kept->items.push_back(item);
    kept->items.back().name = &kept->names.back();
  }
  return ask<std::vector<answer>>("renew", {}, kept,
                                  [&](auto reply) { backend_->renew(kept->items, std::move(reply)); });
}

answer blocking_backend::renew(const renewal& item) {
  std::vector<answer> answers = renew(std::vector{item});
  if (answers.size() != 1) {
    ADD_FAILURE() << "renew gave " << answers.size() << " answers for one item";
    return unknown{no_answer()};
  }
  return std::move(answers.front());
}

answer blocking_backend::release(const lock_name& name, const owner_id& owner) {
  const auto kept = std::make_shared<const release_request>(release_request{name, owner});
  return ask<answer>("release", unknown{no_answer()}, kept,
                     [&](auto reply) { backend_->release(*kept, std::move(reply)); });
}

answer blocking_backend::evict(const lock_name& name, const hold_version& version) {
  const auto kept = std::make_shared<const std::pair<lock_name, hold_version>>(name, version);
  return ask<answer>("evict", unknown{no_answer()}, kept,
                     [&](auto reply) { backend_->evict(kept->first, kept->second, std::move(reply)); });
}

answer blocking_backend::force(const lock_name& name, const owner_id& holder) {
  const auto kept = std::make_shared<const std::pair<lock_name, owner_id>>(name, holder);
  return ask<answer>("force", unknown{no_answer()}, kept,
                     [&](auto reply) { backend_->force(kept->first, kept->second, std::move(reply)); });
}

result<lock_record> blocking_backend::inspect(const lock_name& name) {
  const auto kept = std::make_shared<const lock_name>(name);
  return ask<result<lock_record>>("inspect", no_answer(), kept,
                                  [&](auto reply) { backend_->inspect(*kept, std::move(reply)); });
}

result<std::vector<lock_record>> blocking_backend::list() {
  return ask<result<std::vector<lock_record>>>("list", no_answer(), nullptr,
                                               [&](auto reply) { backend_->list(std::move(reply)); });
}

}  // namespace cremone::test
