// SPDX-License-Identifier: Apache-2.0
#include "cli/finding_text.hpp"

#include "base/text.hpp"
#include "cli/duration.hpp"
#include "cli/exit_codes.hpp"
#include "cli/record_text.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace cremone::cli {

namespace {

constexpr std::string_view gap = "  ";

/// Values are short, but for a few; these go on in the next line, so that the reasons have room.
constexpr std::size_t share_of_values = 4;  // of the columns
constexpr std::size_t widest_value_at_least = 20;
/// With less room than this a column of reasons is hard to read; they then stand below, indented.
constexpr std::size_t narrowest_reason = 30;
constexpr std::size_t indent = 4;

std::string_view colour_of(verdict v, const palette& colours) {
  switch (v) {
    case verdict::good: return colours.good;
    case verdict::untold: return colours.dim;
    case verdict::warning: return colours.warning;
    case verdict::bad: return colours.bad;
  }
  return {};
}

std::size_t count(const std::vector<finding>& all, verdict v) {
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [&](const finding& f) { return f.verdict == v; }));
}

std::string number_of(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

/// How wide each column is.
struct layout {
  std::size_t verdict = 0;
  std::size_t subject = 0;
  std::size_t value = 0;
  std::size_t reason = 0;  // 0: it stands below
};

layout layout_for(const std::vector<finding>& all, std::size_t columns) {
  const std::size_t widest_value = std::max(columns / share_of_values, widest_value_at_least);
  layout l{.verdict = width("VERDICT"), .subject = width("SUBJECT"), .value = width("FOUND")};
  for (const finding& f : all) {
    l.subject = std::max(l.subject, width(f.subject));
    l.value = std::max(l.value, std::min(width(f.value), widest_value));
  }
  const std::size_t before = l.verdict + l.subject + l.value + 3 * gap.size();
  l.reason = columns >= before + narrowest_reason ? columns - before : 0;
  return l;
}

/// Cells side by side, each with as many lines as it takes.
std::string side_by_side(const finding& f, const layout& l, const palette& colours) {
  const auto values = wrapped(f.value, l.value);
  const auto reasons = wrapped(f.reason, l.reason);
  std::string text;
  for (std::size_t i = 0; i < std::max(values.size(), reasons.size()); ++i) {
    std::string line = std::string(gap) + padded(i == 0 ? f.subject : "", l.subject) + std::string(gap) +
                       padded(i < values.size() ? values[i] : "", l.value) + std::string(gap) +
                       (i < reasons.size() ? reasons[i] : "");
    line.erase(line.find_last_not_of(' ') + 1);
    text += std::string(i == 0 ? colour_of(f.verdict, colours) : std::string_view()) +
            padded(i == 0 ? to_string(f.verdict) : "", l.verdict) +
            std::string(i == 0 ? colours.plain : std::string_view()) + line + "\n";
  }
  return text;
}

/// For a narrow terminal.
std::string one_below_the_other(const finding& f, std::size_t columns, const palette& colours) {
  const std::string_view word = to_string(f.verdict);
  const std::size_t room = columns > indent ? columns - indent : 1;
  std::string text =
      std::string(colour_of(f.verdict, colours)) + std::string(word) + std::string(colours.plain);
  const auto lines = wrapped(f.subject + (f.value.empty() ? "" : ": " + f.value),
                             room > word.size() ? room - word.size() : 1);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += (i == 0 ? " " : std::string(indent, ' ')) + lines[i] + "\n";
  }
  for (const std::string& line : wrapped(f.reason, room)) {
    text += std::string(indent, ' ') + line + "\n";
  }
  return text;
}

std::string rows_text(const std::vector<finding>& all, const layout& l, std::size_t columns,
                      const palette& colours) {
  if (l.reason == 0) {
    std::string text;
    for (const finding& f : all) {
      text += one_below_the_other(f, columns, colours);
    }
    return text;
  }
  std::string text = std::string(colours.strong) + padded("VERDICT", l.verdict) + std::string(gap) +
                     padded("SUBJECT", l.subject) + std::string(gap) + padded("FOUND", l.value) +
                     std::string(gap) + "WHY" + std::string(colours.plain) + "\n";
  for (const finding& f : all) {
    text += side_by_side(f, l, colours);
  }
  return text;
}

finding shown_safely(finding f) {
  for (std::string* part : {&f.node, &f.subject, &f.value, &f.reason}) {
    *part = printable(*part);
  }
  return f;
}

/// Where to break, so that what stands before has at most `columns` characters.
std::size_t break_at(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  std::size_t blank = std::string_view::npos;
  for (std::size_t characters = 0; bytes < text.size(); ++bytes) {
    const bool begins = (static_cast<unsigned char>(text[bytes]) & 0xc0U) != 0x80U;
    if (text[bytes] == ' ') {
      blank = bytes;
    }
    if (begins && ++characters > columns) {
      break;
    }
  }
  if (bytes == text.size()) {
    return bytes;
  }
  return blank != std::string_view::npos && blank > 0 ? blank : bytes;
}

/// Of servers that vote: is this a majority?
bool more_than_half(std::size_t all, std::size_t some) noexcept { return 2 * some > all; }

std::size_t count_open(const std::vector<quarantine_state>& all) {
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const quarantine_state& q) { return q.reachable && !q.quarantined; }));
}

/// "a, b and c"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

/// Are so many servers away or in quarantine, and some of them in that, that nobody gets a lock?
bool all_wait_for_a_quarantine(const std::vector<finding>& all) {
  std::set<std::string> nodes;
  std::set<std::string> out;
  bool quarantined = false;
  for (const finding& f : all) {
    nodes.insert(f.node);
    const bool waits = f.subject == "quarantine" && f.verdict == verdict::warning;
    quarantined = quarantined || waits;
    if (waits || f.subject == "connection") {
      out.insert(f.node);
    }
  }
  return quarantined && !more_than_half(nodes.size(), nodes.size() - out.size());
}

std::string time_left(const quarantine_state& q) {
  if (q.until_ordered) {
    return "it does not end by itself; once no lock from before is held, run `cremone quarantine --end`";
  }
  return q.left ? shown(*q.left) + " left"
                : "how long still is not known: nobody on this machine has watched it yet";
}

}  // namespace

verdict overall(const std::vector<finding>& all) noexcept {
  verdict worst = verdict::good;
  for (const finding& f : all) {
    worst = std::max(worst, f.verdict);
  }
  return worst;
}

std::string summary(const std::vector<finding>& all) {
  const std::size_t bad = count(all, verdict::bad);
  const std::size_t warnings = count(all, verdict::warning);
  const std::size_t untold = count(all, verdict::untold);
  const bool in_quarantine = all_wait_for_a_quarantine(all);
  std::string text = "A good place for locks";
  if (bad > 0) {
    text = std::to_string(bad) + " of " + std::to_string(all.size()) + (bad == 1 ? " is" : " are") +
           " bad: locks here are not safe, or do not work";
  } else if (in_quarantine) {
    text = "No lock is given out here until the quarantine is over" +
           (warnings > 1 ? "; there is more to be warned of" : std::string());
  } else if (warnings > 0) {
    text = "Locks work here, with " + number_of(warnings, "warning");
  } else if (untold > 0) {
    text = "Nothing is wrong as far as can be told";
  }
  return text + (untold > 0 ? "; " + std::to_string(untold) + " of " + std::to_string(all.size()) +
                                  " could not be found out."
                            : ".");
}

std::string findings_table(const std::vector<finding>& all, const std::string& store, std::size_t columns,
                           const palette& colours) {
  std::vector<std::string> nodes;  // in the order in which they come
  std::vector<finding> shown;
  for (const finding& f : all) {
    shown.push_back(shown_safely(f));
    if (std::find(nodes.begin(), nodes.end(), shown.back().node) == nodes.end()) {
      nodes.push_back(shown.back().node);
    }
  }
  const layout l = layout_for(shown, columns);
  std::string text = std::string(colours.strong) + printable(store) + std::string(colours.plain) + "\n\n";
  for (const std::string& node : nodes) {
    std::vector<finding> of_node;
    std::copy_if(shown.begin(), shown.end(), std::back_inserter(of_node),
                 [&](const finding& f) { return f.node == node; });
    text += nodes.size() > 1 ? node + "\n" : "";
    text += rows_text(of_node, l, columns, colours) + "\n";
  }
  return text + std::string(colour_of(overall(all), colours)) + summary(all) + std::string(colours.plain) +
         "\n";
}

std::string findings_lines(const std::vector<finding>& all, const std::string& store) {
  std::vector<std::vector<std::string>> rows;
  for (const finding& unsafe : all) {
    const finding f = shown_safely(unsafe);
    rows.push_back({std::string(to_string(f.verdict)), f.subject, f.value, f.reason, f.node});
  }
  rows.push_back({std::string(to_string(overall(all))), "overall", "", summary(all), printable(store)});
  return as_tabbed(rows);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  do {
    const std::size_t at = break_at(text, std::max<std::size_t>(columns, 1));
    lines.emplace_back(text.substr(0, at));
    text.remove_prefix(at);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  } while (!text.empty());
  return lines;
}

std::vector<std::string> why_no_lock(const result<std::vector<quarantine_state>>& servers) {
  if (!servers || more_than_half(servers->size(), count_open(*servers))) {
    return {};
  }
  struct reason {
    std::vector<std::string> of;
    const quarantine_state* last;  // of them to grant again
  };
  std::vector<reason> reasons;
  for (const quarantine_state& s : *servers) {
    if (!s.quarantined) {
      continue;
    }
    const auto known = std::find_if(reasons.begin(), reasons.end(), [&](const reason& r) {
      return r.last->why == s.why && r.last->left.has_value() == s.left.has_value();
    });
    if (known == reasons.end()) {
      reasons.push_back({{s.node}, &s});
    } else {
      known->of.push_back(s.node);
      known->last = s.left > known->last->left ? &s : known->last;
    }
  }
  std::vector<std::string> sentences;
  for (const reason& r : reasons) {
    const bool one = r.of.size() == 1;
    sentences.push_back(
        listed(r.of) + (one ? " grants no lock, since it" : " grant no lock, since they") +
        " may have lost the record of who holds what (" + r.last->why + ")" +
        (r.last->until_ordered ? "; once no lock from before is held, run `cremone quarantine --end`"
         : r.last->left
             ? (one ? "; it grants again in " : "; the last one grants again in ") + shown(*r.last->left)
             : std::string()));
  }
  return sentences;
}

bool any_quarantined(const std::vector<quarantine_state>& all) noexcept {
  return std::any_of(all.begin(), all.end(), [](const quarantine_state& q) { return q.quarantined; });
}

std::string not_reached(const std::vector<quarantine_state>& all) {
  std::string text;
  for (const quarantine_state& q : all) {
    if (!q.reachable) {
      text += (text.empty() ? "" : ", ") + q.node + " (" + q.why + ")";
    }
  }
  return text;
}

int quarantine_status(const std::vector<quarantine_state>& all) noexcept {
  const auto reached = static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const quarantine_state& q) { return q.reachable; }));
  if (!all.empty() && !more_than_half(all.size(), reached)) {
    return status::unreachable;
  }
  return reached < all.size() || any_quarantined(all) ? status::in_quarantine : status::done;
}

std::string without_quarantine(const std::string& store) {
  return printable(store) + " knows no quarantine: it gives out locks whenever it can be reached";
}

std::string quarantine_sentences(const std::vector<quarantine_state>& all, const std::string& store,
                                 const palette& colours) {
  if (all.empty()) {
    return without_quarantine(store) + "\n";
  }
  std::string text;
  for (const quarantine_state& q : all) {
    text += printable(q.node) + ": ";
    text += !q.reachable ? std::string(colours.bad) + "cannot be asked" + std::string(colours.plain) + ": " +
                               printable(q.why)
            : q.quarantined ? std::string(colours.warning) + "in quarantine" + std::string(colours.plain) +
                                  ", " + time_left(q) + ". Why: " + printable(q.why)
                            : std::string(colours.good) + "gives out locks" + std::string(colours.plain);
    text += "\n";
  }
  return text;
}

std::string quarantine_lines(const std::vector<quarantine_state>& all) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(all.size());
  for (const quarantine_state& q : all) {
    rows.push_back({printable(q.node),
                    !q.reachable    ? "unreachable"
                    : q.quarantined ? "quarantined"
                                    : "open",
                    q.left ? std::to_string(q.left->count()) : "", printable(q.why)});
  }
  return as_tabbed(rows);
}

}  // namespace cremone::cli
