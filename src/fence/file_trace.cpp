// SPDX-License-Identifier: Apache-2.0
#include "fence/file_trace.hpp"

#include <algorithm>

namespace cremone::fence {

namespace {

constexpr std::uint64_t most_places = 200;  // with a sum each they fit into a slot
constexpr std::uint64_t noted_before = 512;
constexpr std::uint64_t piece = 65536;

std::uint64_t step_for(std::uint64_t length) noexcept {
  std::uint64_t step = 1;
  while (length / step + 2 > most_places) {
    step *= 2;
  }
  return step;
}

/// The place after this one, counted from where the append begins.
std::uint64_t next_place(const slot::addition& of, std::uint64_t done) noexcept {
  return std::min(of.length, ((of.before + done) / of.step + 1) * of.step - of.before);
}

result<void> add_to(checksum& sum, const reader& from, std::uint64_t begin, std::uint64_t end) {
  while (begin < end) {
    const auto bytes = from(begin, static_cast<std::size_t>(std::min(piece, end - begin)));
    if (!bytes) {
      return bytes.error();
    }
    if (bytes->empty()) {
      return error(errc::storage_error,
                   "what is to be appended, or the file, was made shorter while it was read");
    }
    sum.add(*bytes);
    begin += bytes->size();
  }
  return {};
}

result<std::uint64_t> sum_before(std::uint64_t before, const reader& file) {
  checksum sum;
  if (auto added = add_to(sum, file, before - std::min(before, noted_before), before); !added) {
    return added.error();
  }
  return sum.value();
}

}  // namespace

result<slot::addition> trace_of(std::uint64_t inode, std::uint64_t before, std::uint64_t length,
                                const reader& content, const reader& file) {
  const auto lead = sum_before(before, file);
  if (!lead) {
    return lead.error();
  }
  slot::addition note{inode, before, length, *lead, step_for(length), {}};
  checksum sum;
  for (std::uint64_t done = 0; done < length;) {
    const std::uint64_t next = next_place(note, done);
    if (auto added = add_to(sum, content, done, next); !added) {
      return added.error();
    }
    note.sums.push_back(sum.value());
    done = next;
  }
  return note;
}

result<bool> stands_before(const slot::addition& begun, const reader& file) {
  const auto lead = sum_before(begun.before, file);
  return lead ? result<bool>(*lead == begun.lead) : result<bool>(lead.error());
}

result<std::uint64_t> proven(const slot::addition& begun, std::uint64_t tail, const reader& file) {
  checksum sum;
  std::uint64_t done = 0;
  for (const std::uint64_t expected : begun.sums) {
    const std::uint64_t next = next_place(begun, done);
    if (next > tail) {
      break;
    }
    if (auto added = add_to(sum, file, begun.before + done, begun.before + next); !added) {
      return added.error();
    }
    if (sum.value() != expected) {
      break;
    }
    done = next;
  }
  return done;
}

}  // namespace cremone::fence
