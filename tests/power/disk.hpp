// SPDX-License-Identifier: Apache-2.0
//
// A disk that can lose power: it remembers of each file which writes and truncations, and of the directory which new
// and deleted names, were not synced yet, and so what could be left of them. It knows no SQLite and no locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace cremone::test {

/// The content of one file: what is certain to be there, and what came since.
class image {
 public:
  explicit image(std::string synced, bool made_here) : synced_(std::move(synced)), fresh_(made_here) {}

  void write(std::size_t at, std::string_view data) { pending_.push_back({at, std::string(data), false}); }
  void truncate(std::size_t size) { pending_.push_back({size, {}, true}); }
  void sync();

  /// The name of a file is synced with its first sync, as the "unix" VFS does it for journals.
  [[nodiscard]] bool fresh() const noexcept { return fresh_; }

  /// What may be there after a power cut: sometimes nothing of what was not synced, sometimes the first part of it,
  /// sometimes each change by the toss of a coin, sometimes each of its sectors.
  [[nodiscard]] std::string after_cut(std::mt19937_64& random) const;

 private:
  struct change {
    std::size_t at;
    std::string data;
    bool cuts_off;  // a truncation to `at`
  };
  static void apply(const change& c, std::string& content);
  static void apply_torn(const change& c, std::string& content, std::mt19937_64& random);

  std::string synced_;
  std::vector<change> pending_;
  bool fresh_;
};

/// Threads: one at a time.
class disk {
 public:
  /// The power goes with the n-th change from now, counting from 1: what that call does may be done or not, and
  /// nothing is done after it. With a file named, counting starts at the first change of that file.
  void cut_at(std::uint64_t n, std::string from_file = {});
  [[nodiscard]] bool on() const noexcept { return on_; }
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

  /// What happens to files; each is to be done on the real file as well. False or null: it must fail now.
  [[nodiscard]] image* open(const std::string& path, bool may_make);
  [[nodiscard]] bool write(const std::string& path, image& file, std::size_t at, std::string_view data);
  [[nodiscard]] bool truncate(const std::string& path, image& file, std::size_t size);
  [[nodiscard]] bool sync(const std::string& path, image& file);
  [[nodiscard]] bool remove(const std::string& path, bool synced);

  /// The power comes back: the real files, which nobody has open, get what could be left of them.
  void come_back(std::mt19937_64& random);

  /// It was the program that was killed, not the machine: what was written is there, though not synced.
  void carry_on() { on_ = true; }

 private:
  using names = std::map<std::string, std::shared_ptr<image>>;

  [[nodiscard]] bool count(const std::string& path);

  names now_;
  names synced_;
  std::vector<std::shared_ptr<image>> all_;  // one that was deleted may still be open
  bool on_ = true;
  std::uint64_t changes_ = 0;
  std::uint64_t left_ = 0;  // changes until the power goes; 0: it stays
  std::string from_file_;
};

}  // namespace cremone::test
