// SPDX-License-Identifier: Apache-2.0
//
// `cremone release --force NAME`: takes a lock away from whoever holds it. Only by order, because nothing but a fence
// token protects what the holder works on if it is alive after all.
#include "cli/commands.hpp"
#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/record_json.hpp"

namespace cremone::cli {

namespace {

constexpr command_text text = {
    "release", "--force [OPTIONS] NAME",
    "Takes a lock away from whoever holds it. A lock is released by itself when "
    "its command ends, and freed when its\n"
    "holder dies; this is for what is left: a command that outlived its cremone, "
    "or a holder that must go now.\n"
    "A holder that is alive learns of it with its next renewal and is ended then; "
    "until then it works on beside the\n"
    "next holder, unless what it works on checks tokens.\n"
    "Ends with 0 when a hold was removed, with 1 when there was none, with 75 when the lock passed to "
    "another holder at the\n"
    "same moment: then nothing was done, and it is for you to say whether that one must go too.",
    "  cremone who deploy               look first\n"
    "  cremone release --force deploy"};

std::string said(const parser& p, const std::string& store, std::size_t removed) {
  if (p.json()) {
    return removal_json(store, p.name(), removed);
  }
  return removed == 0 ? "nobody held '" + p.name() + "' at " + store + "\n"
                      : "released '" + p.name() + "' at " + store + "\n";
}

}  // namespace

outcome release_command(const arguments& given) {
  parser p(text);
  bool force = false;
  p.add_flag("--force", force, "yes, although somebody may be at work under it");
  p.add_json();
  p.add_quiet("print nothing; the exit code says whether a hold was removed");
  p.add_name();
  if (const auto over = p.parse(given)) {
    return {.status = *over};
  }
  if (!force) {
    complain(
        "a lock is released by its holder, and freed when that dies. To take it away from a holder that may "
        "be "
        "at work, say so: cremone release --force " +
        p.name() + " (cremone who " + p.name() + " shows the holder)");
    return {.status = status::usage};
  }
  const auto store = p.open_store();
  if (!store) {
    return {.status = report(store.error())};
  }
  const auto removed = store->force_release(p.name());
  if (!removed && removed.error().code() != errc::not_held) {
    return {.status = report(removed.error())};
  }
  const std::size_t count = removed ? *removed : 0;
  if (const auto printed = print(p.quiet() ? "" : said(p, store->store(), count)); !printed) {
    return {.status = report(printed.error())};
  }
  return {.status = count == 0 ? status::nothing_held : status::done};
}

}  // namespace cremone::cli
