// SPDX-License-Identifier: Apache-2.0
#include "base/resp.hpp"

#include "base/check.hpp"
#include "base/text.hpp"

#include <hiredis/read.h>

#include <array>
#include <charconv>
#include <new>
#include <utility>

namespace cremone::redis {

namespace {

using kind = reply::kind;

void append_number(std::string& out, char mark, std::size_t number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out += mark;
  out.append(digits.data(), end);
  out += "\r\n";
}

/// A new reply where hiredis is at: the root, or the next item of the list above it. That one is the last of its own
/// list, so that it stays where it is while items are added to it.
void* place(const redisReadTask* task, reply&& made) noexcept {
  if (++*static_cast<std::size_t*>(task->privdata) > reply_reader::max_items) {
    return nullptr;  // hiredis takes it for a lack of memory; next() knows better
  }
  try {
    if (task->parent == nullptr) {
      return new reply(std::move(made));
    }
    auto& items = static_cast<reply*>(task->parent->obj)->items;
    items.push_back(std::move(made));
    return &items.back();
  } catch (const std::bad_alloc&) {
    return nullptr;  // hiredis reports it
  }
}

void* make_text(const redisReadTask* task, char* bytes, std::size_t size) noexcept {
  const kind what = task->type == REDIS_REPLY_ERROR    ? kind::error
                    : task->type == REDIS_REPLY_STATUS ? kind::status
                                                       : kind::text;
  try {
    return place(task, {.what = what, .number = 0, .text = std::string(bytes, size), .items = {}});
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void* make_list(const redisReadTask* task, int /*announced: not to be trusted with memory*/) noexcept {
  return place(task, {.what = kind::list, .number = 0, .text = {}, .items = {}});
}

void* make_integer(const redisReadTask* task, long long number) noexcept {
  return place(task, {.what = kind::integer, .number = number, .text = {}, .items = {}});
}

void* make_nil(const redisReadTask* task) noexcept { return place(task, {}); }

void free_root(void* root) noexcept { delete static_cast<reply*>(root); }

redisReplyObjectFunctions makers{make_text, make_list, make_integer, make_nil, free_root};

}  // namespace

std::string shape_of(const reply& r) {
  switch (r.what) {
    case kind::nil: return "nil";
    case kind::integer: return "the number " + std::to_string(r.number);
    case kind::text: return "a text of " + std::to_string(r.text.size()) + " bytes";
    case kind::status: return "the status '" + printable(r.text.substr(0, 40)) + "'";
    case kind::error: return "the error '" + printable(r.text.substr(0, 200)) + "'";
    case kind::list: return "a list of " + std::to_string(r.items.size());
  }
  return {};
}

void append_command(std::string& out, std::span<const std::string_view> words) {
  constexpr std::size_t around_a_word = 10;  // "$123\r\n" and "\r\n"
  std::size_t size = around_a_word;
  for (const std::string_view word : words) {
    size += word.size() + around_a_word;
  }
  out.reserve(out.size() + size);
  append_number(out, '*', words.size());
  for (const std::string_view word : words) {
    append_number(out, '$', word.size());
    out += word;
    out += "\r\n";
  }
}

void reply_reader::free_reader::operator()(redisReader* r) const noexcept { ::redisReaderFree(r); }

reply_reader::reply_reader(beginning b)
    : reader_(::redisReaderCreateWithFunctions(&makers)), items_(std::make_unique<std::size_t>(0)), show_(b) {
  CREMONE_CHECK(reader_ != nullptr);
  reader_->privdata = items_.get();
}

error reply_reader::garbled(std::string_view why) const {
  return {errc::protocol_error,
          "does not answer like a Redis server: " + std::string(why) +
              (beginning_.empty() ? "" : "; it began with '" + printable(beginning_) + "'")};
}

void reply_reader::feed(std::string_view bytes) {
  constexpr std::size_t enough_to_tell = 40;
  if (show_ == beginning::shown && beginning_.size() < enough_to_tell) {
    beginning_ += bytes.substr(0, enough_to_tell - beginning_.size());
  }
  unfinished_ += bytes.size();
  if (!broken_) {
    broken_ = ::redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK;
  }
}

result<std::optional<reply>> reply_reader::next() {
  if (broken_) {
    return garbled(reader_->err != 0 ? std::string_view(reader_->errstr) : "it is too long");
  }
  void* got = nullptr;
  if (::redisReaderGetReply(reader_.get(), &got) != REDIS_OK) {
    broken_ = true;
    return garbled(*items_ > max_items ? "a reply has more than 100,000 parts" : reader_->errstr);
  }
  if (got == nullptr) {
    broken_ = unfinished_ > max_reply_size;
    return broken_ ? result<std::optional<reply>>(garbled("a reply is longer than 8 MiB"))
                   : std::optional<reply>();
  }
  unfinished_ = reader_->len - reader_->pos;
  *items_ = 0;
  const std::unique_ptr<reply> root(static_cast<reply*>(got));
  return std::optional(std::move(*root));
}

}  // namespace cremone::redis
