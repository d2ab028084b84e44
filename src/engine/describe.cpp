// SPDX-License-Identifier: Apache-2.0
#include "engine/describe.hpp"

#include "base/amounts.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

namespace cremone::detail {

namespace {

std::string shown(std::chrono::microseconds t) {
  t = std::max(t, std::chrono::microseconds(0));
  if (t < std::chrono::seconds(1)) {
    return std::to_string(std::chrono::floor<std::chrono::milliseconds>(t).count()) + " ms";
  }
  char text[32];
  const double seconds = std::chrono::duration<double>(t).count();
  const int size = std::snprintf(text, sizeof text, "%.1f s", seconds);
  return {text, static_cast<std::size_t>(size)};
}

/// Of a hold that looks abandoned.
std::string not_renewed(const hold_record& hold) {
  const auto ago = hold.renewed_ago.value_or(std::chrono::milliseconds(0));
  return ago < ago.zero()
             ? "may not have renewed: the store's clock was set back and cannot tell"
             : "has not renewed for " + shown(std::chrono::microseconds(ago)) + " by the store's clock";
}

/// Several servers report a vote each: the owner lives if one of its votes was renewed.
bool owner_looks_abandoned(const hold_record& of, std::span<const hold_record> votes) {
  return std::all_of(votes.begin(), votes.end(), [&](const hold_record& vote) {
    return vote.version.owner != of.version.owner || looks_abandoned(vote);
  });
}

/// A living holder renews at a third of its ttl. Where the ttl is not known (zero), nothing follows from silence.
std::string how_silent(const rejection& no, std::optional<std::chrono::nanoseconds> silent) {
  const hold_record& holder = no.holders.front();
  if (!silent || holder.ttl == holder.ttl.zero() || *silent <= holder.ttl / 2) {
    return !owner_looks_abandoned(holder, no.holders)
               ? std::string()
               : "; it looks abandoned: its holder " + not_renewed(holder) + ". A wait of more than " +
                     describe_time(holder.ttl) + ", or `cremone run --try`, observes it and takes over";
  }
  std::string text = "; silent for " + shown(std::chrono::floor<std::chrono::microseconds>(*silent));
  if (*silent < holder.ttl) {
    text += ", taken over after " + describe_time(holder.ttl) + " of silence";
  }
  return text;
}

/// How long it still takes, as this machine has seen it.
std::string quarantine_words(const rejection& no, std::optional<std::chrono::nanoseconds> seen) {
  std::string text = no.why.detail();
  if (no.until_ordered) {
    return text + "; once no lock from before is held, run `cremone quarantine --end`";
  }
  if (!no.holders.empty()) {
    const auto left =
        std::chrono::nanoseconds(no.holders.front().ttl) - seen.value_or(std::chrono::nanoseconds(0));
    text += ", " + shown(std::chrono::floor<std::chrono::microseconds>(left)) +
            " from now; `cremone quarantine` shows it, and can end it";
  }
  return text;
}

std::string who_is_in_the_way(const rejection& no, std::optional<std::chrono::nanoseconds> silent) {
  if (no.why == errc::quarantined) {
    return "is not given out: " + quarantine_words(no, silent);
  }
  if (no.holders.empty() && no.why == errc::unreachable) {
    return "was asked for, and the store has not answered";
  }
  if (no.holders.empty()) {
    return no.place.value_or(1) > 0 ? "is promised to others who wait for it" : "was not free";
  }
  std::string text = "is held by " + describe_holder(no.holders.front());
  if (const std::size_t all = count_owners(no.holders); all > 1) {
    text += " and " + std::to_string(all - 1) + " more";
  }
  if (no.holders.front().liveness == liveness::command_only) {
    return text +
           "; that process is gone, but the command that it ran is still at work. The lock is free when it"
           " ends, or by force";
  }
  return text + how_silent(no, silent);
}

}  // namespace

std::size_t count_owners(std::span<const hold_record> holders) {
  std::set<owner_id> all;
  for (const hold_record& h : holders) {
    all.insert(h.version.owner);
  }
  return all.size();
}

std::string describe_time(std::chrono::milliseconds t) {
  if (t < std::chrono::seconds(1)) {
    return std::to_string(t.count()) + " ms";
  }
  std::string text = std::to_string(t.count() / 1000);
  if (const auto rest = t.count() % 1000; rest != 0) {
    text += "." + std::to_string(1000 + rest).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + " s";
}

std::string describe_owner(const owner_data& who) {
  std::string text = who.host + " pid " + std::to_string(who.pid);
  if (!who.user.empty()) {
    text += " user " + who.user;
  }
  if (!who.label.empty()) {
    text += " ('" + who.label + "')";
  }
  return who.since == wall_time{} ? text : text + " since " + shown_time(who.since);
}

std::string describe_holder(const hold_record& holder) {
  const std::string text = holder.foreign.empty() ? describe_owner(holder.owner)
                                                  : "another program, which left '" + holder.foreign + "'";
  if (holder.expires_in) {
    return text + ", expires in " + shown(std::chrono::microseconds(*holder.expires_in)) + " unless renewed";
  }
  // A record of ours has its ttl, and ends by silence; what has neither stays until somebody removes it.
  return holder.ttl == holder.ttl.zero() ? text + ", does not expire" : text;
}

std::string describe_observation(const lock_name& name, const std::string& store, const hold_record& hold,
                                 std::chrono::milliseconds span) {
  return "lock '" + name.str() + "' at " + store + " looks abandoned: its holder " +
         describe_owner(hold.owner) + " " + not_renewed(hold) + "; observing it for " +
         shown(std::chrono::microseconds(span)) + " before taking over";
}

error describe_failure(const error& why, const acquire_request& request, const rejection& last_no,
                       const std::string& store, wall_time now,
                       std::optional<std::chrono::nanoseconds> silent) {
  const std::string lock = "lock '" + request.name.str() + "' at " + store;
  const std::string waited = shown(now - request.who.since);
  switch (why.code()) {
    case errc::busy: return {errc::busy, lock + " " + who_is_in_the_way(last_no, silent)};
    case errc::timed_out:
      return {errc::timed_out, lock + " " + who_is_in_the_way(last_no, silent) + "; waited " + waited};
    case errc::quarantined: return {errc::quarantined, lock + " " + who_is_in_the_way(last_no, silent)};
    case errc::cancelled: return {errc::cancelled, lock + ": " + why.detail() + "; waited " + waited};
    default: return {why.code(), lock + ": " + why.detail() + " (after " + waited + ")"};
  }
}

}  // namespace cremone::detail
