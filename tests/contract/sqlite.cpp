// SPDX-License-Identifier: Apache-2.0
//
// The contract for sqlite://: a database file of its own per test, in a temporary directory, and a connection of its
// own per backend, as another process would have.
#include "contract/suite.hpp"

#include "backends/sqlite/backend.hpp"
#include "support/temp_directory.hpp"

namespace cremone::contract {

namespace {

class sqlite_store final : public store_under_test {
 public:
  [[nodiscard]] std::string url() const override { return "sqlite://" + path(); }

  [[nodiscard]] std::shared_ptr<backend> connect(const std::shared_ptr<env>& outside) override {
    sqlite::store_settings settings;
    settings.path = path();
    return sqlite::open_backend(outside, settings).value();
  }

 private:
  [[nodiscard]] std::string path() const { return directory_.path() + "/locks.db"; }

  const test::temp_directory directory_;
};

}  // namespace

std::vector<store_kind> tested_stores() { return {{"sqlite", start<sqlite_store>}}; }

}  // namespace cremone::contract
