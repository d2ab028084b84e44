// SPDX-License-Identifier: Apache-2.0
#include "power/disk.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace cremone::test {

namespace {

constexpr std::size_t sector = 512;

bool coin(std::mt19937_64& random) { return random() % 2 == 0; }

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

void image::sync() {
  for (const change& c : pending_) {
    apply(c, synced_);
  }
  pending_.clear();
  fresh_ = false;
}

std::string image::after_cut(std::mt19937_64& random) const {
  enum { none, first_part, some, torn };
  const auto how = random() % 4;
  const auto part = random() % (pending_.size() + 1);
  std::string content = synced_;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if ((how == first_part && i < part) || (how == some && coin(random))) {
      apply(pending_[i], content);
    } else if (how == torn) {
      apply_torn(pending_[i], content, random);
    }
  }
  return content;
}

void image::apply(const change& c, std::string& content) {
  if (c.cuts_off) {
    content.resize(c.at);
    return;
  }
  content.resize(std::max(content.size(), c.at + c.data.size()));
  content.replace(c.at, c.data.size(), c.data);
}

void image::apply_torn(const change& c, std::string& content, std::mt19937_64& random) {
  if (c.cuts_off) {
    if (coin(random)) {
      apply(c, content);
    }
    return;
  }
  for (std::size_t done = 0; done < c.data.size();) {
    const std::size_t at = c.at + done;
    const std::size_t length = std::min(sector - at % sector, c.data.size() - done);
    if (coin(random)) {
      apply({at, c.data.substr(done, length), false}, content);
    }
    done += length;
  }
}

void disk::cut_at(std::uint64_t n, std::string from_file) {
  left_ = n;
  from_file_ = std::move(from_file);
}

/// False: this was the last one.
bool disk::count(const std::string& path) {
  ++changes_;
  if (left_ == 0 || (!from_file_.empty() && path != from_file_)) {
    return true;
  }
  from_file_.clear();
  on_ = --left_ != 0;
  return on_;
}

image* disk::open(const std::string& path, bool may_make) {
  if (const auto at = now_.find(path); at != now_.end()) {
    return at->second.get();
  }
  const bool there = std::filesystem::exists(path);
  if (!there && (!may_make || !on_)) {
    return nullptr;
  }
  auto made = std::make_shared<image>(there ? content_of(path) : std::string(), !there);
  all_.push_back(made);
  now_[path] = made;
  if (there) {
    synced_[path] = made;
  }
  return made.get();
}

bool disk::write(const std::string& path, image& file, std::size_t at, std::string_view data) {
  file.write(at, data);
  return count(path);
}

bool disk::truncate(const std::string& path, image& file, std::size_t size) {
  file.truncate(size);
  return count(path);
}

bool disk::sync(const std::string& path, image& file) {
  if (!count(path)) {
    return false;
  }
  if (file.fresh()) {
    synced_ = now_;
  }
  file.sync();
  return true;
}

bool disk::remove(const std::string& path, bool synced) {
  now_.erase(path);
  if (!count(path)) {
    return false;
  }
  if (synced) {
    synced_ = now_;
  }
  return true;
}

void disk::come_back(std::mt19937_64& random) {
  std::set<std::string> paths;
  for (const names* known : {&now_, &synced_}) {
    for (const auto& [path, file] : *known) {
      paths.insert(path);
    }
  }
  for (const std::string& path : paths) {
    const names& left = coin(random) ? now_ : synced_;
    const auto at = left.find(path);
    if (at == left.end()) {
      std::filesystem::remove(path);
    } else {
      std::ofstream(path, std::ios::binary | std::ios::trunc) << at->second->after_cut(random);
    }
    std::filesystem::remove(path + "-shm");  // memory
  }
  *this = disk{};
}

}  // namespace cremone::test
