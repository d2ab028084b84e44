// SPDX-License-Identifier: Apache-2.0
//
// Disks that are full or may not be written to: one clear error, the old content, the old token; and when there is room again it works.
#include "fence/file_fixture.hpp"
#include "support/namespaces.hpp"

#include <fcntl.h>

#include <cstring>

namespace cremone::test {

namespace {

/// All that is left, so that not a byte more can be written.
void fill_up(const std::string& directory) {
  std::ofstream ballast(directory + "/ballast", std::ios::binary);
  const std::string some(4096, 'b');
  while (ballast.write(some.data(), static_cast<std::streamsize>(some.size())).flush()) {
  }
}

std::string expect_full(const result<void>& done, const std::string& what) {
  if (done) {
    return what + " succeeded on a full disk";
  }
  const std::string says = done.error().message();
  return says.starts_with("storage_error") && says.find("No space left") != std::string::npos
             ? ""
             : what + ": " + says;
}

std::string expect_same(const std::string& is, const std::string& should_be, const std::string& what) {
  return is == should_be ? "" : what + " is '" + is.substr(0, 60) + "'; ";
}

using FencedFileOnDisk = FencedFile;

TEST_F(FencedFileOnDisk, ThatIsFullKeepsItsContentAndItsToken) {
  on_small_disk(directory_.path(), "1m", [&](const std::string& on) -> std::string {
    const std::string at = on + "/report";
    const fenced_file file(at);
    const std::string large(3'000'000, 'x');
    std::string wrong = wrong_unless(file.write(fence_token(5), "old"));
    wrong += expect_full(file.write(fence_token(6), large), "a write that does not fit");
    wrong += expect_full(file.write(fence_token(6), pieces_of(large, 65536)),
                         "a write from a source that does not fit");
    wrong += expect_same(std::to_string(highest_of(at)), "5", "the token");
    wrong += expect_full(file.append(fence_token(6), large), "an append that does not fit");
    wrong += expect_same(content_of(at), "old", "the content");
    const auto spooled = file.append(fence_token(6), pieces_of(large, 65536));
    wrong += expect_full(spooled, "an append from a source that does not fit");
    if (!spooled && spooled.error().message().find("appended to '" + at) == std::string::npos) {
      wrong += "it does not say what for: " + spooled.error().message();
    }
    wrong += expect_same(content_of(at), "old", "the content");
    fill_up(on);
    wrong += expect_full(file.write(fence_token(7), "new"), "a write");
    wrong += expect_full(file.append(fence_token(7), std::string(5000, 'x')), "an append");
    wrong += expect_same(content_of(at), "old", "the content");
    if (highest_of(at) < 5) {
      wrong += "the token went down";
    }
    wrong += wrong_unless(file.check(fence_token(8)));  // in place: it needs no room
    std::filesystem::remove(on + "/ballast");
    wrong += wrong_unless(file.append(fence_token(9), "er"));
    wrong += expect_same(content_of(at), "older", "the content when there was room again");
    wrong += wrong_unless(file.write(fence_token(9), "new"));
    wrong += expect_same(content_of(at), "new", "the content when there was room again");
    return names_in(on).size() == 2 ? wrong : wrong + "something is left behind";
  });
}

TEST_F(FencedFileOnDisk, ThatIsFullFromTheFirstWriteOnMakesNothing) {
  on_small_disk(directory_.path(), "1m", [&](const std::string& on) -> std::string {
    const std::string at = on + "/report";
    fill(at, "old");
    fill_up(on);
    std::string wrong;
    wrong += expect_full(fenced_file(at).write(fence_token(5), "new"), "the first write");
    wrong += expect_full(fenced_file(at).append(fence_token(5), "new"), "the first append");
    wrong += expect_full(fenced_file(at).check(fence_token(5)), "the first check");
    wrong += expect_full(fenced_file(on + "/other").write(fence_token(5), "new"), "a new file");
    wrong += expect_full(fenced_file(on + "/other").append(fence_token(5), "new"), "a new log");
    wrong += expect_same(content_of(at), "old", "the content");
    if (names_in(on).size() != 2) {
      wrong += "something was made";
    }
    std::filesystem::remove(on + "/ballast");
    wrong += wrong_unless(fenced_file(at).write(fence_token(5), "new"));
    return wrong + expect_same(content_of(at), "new", "the content when there was room again");
  });
}

TEST_F(FencedFileOnDisk, ThatMayOnlyBeReadSaysSo) {
  on_small_disk(directory_.path(), "1m", [&](const std::string& on) -> std::string {
    std::string wrong = wrong_unless(fenced_file(on + "/report").write(fence_token(5), "old"));
    if (::mount("none", on.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return std::string("remount: ") + std::strerror(errno);
    }
    for (const char* const name : {"/report", "/new"}) {
      const fenced_file file(on + name);
      for (const auto& done :
           {file.write(fence_token(6), "x"), file.append(fence_token(6), "x"), file.check(fence_token(6))}) {
        const std::string says = done ? "it was written" : done.error().message();
        if (!says.starts_with("storage_error") || says.find("Read-only") == std::string::npos) {
          wrong += name + (": " + says) + "; ";
        }
      }
    }
    return wrong + expect_same(std::to_string(highest_of(on + "/report")), "5", "the token") +
           expect_same(content_of(on + "/report"), "old", "the content");
  });
}

TEST_F(FencedFileOnDisk, ThatIsMountedAloneIsNotAppendedTo) {
  on_small_disk(directory_.path(), "1m", [&](const std::string& on) -> std::string {
    fill(on + "/real", "old");
    fill(on + "/mounted", "");
    if (::mount((on + "/real").c_str(), (on + "/mounted").c_str(), nullptr, MS_BIND, nullptr) != 0) {
      return std::string("mount: ") + std::strerror(errno);
    }
    const auto done = fenced_file(on + "/mounted").append(fence_token(1), "x");
    const std::string says = done ? "it was written" : done.error().message();
    std::string wrong =
        says.starts_with("invalid_argument") && says.find("mounted file") != std::string::npos ? "" : says;
    wrong += wrong_unless(fenced_file(on + "/real").append(fence_token(1), "er"));
    return wrong + expect_same(content_of(on + "/real"), "older", "the content");
  });
}

TEST_F(FencedFileOnDisk, WithoutProcIsWrittenAsWell) {
  on_small_disk("/proc", "1m", [&](const std::string&) -> std::string {
    const std::string at = path();
    std::string wrong = wrong_unless(fenced_file(at).write(fence_token(5), "old"));
    wrong += wrong_unless(fenced_file(at).write(fence_token(6), "new"));
    wrong += wrong_unless(fenced_file(at).append(fence_token(6), pieces_of("er")));
    wrong += expect_same(content_of(at), "newer", "the content");
    return names_in(directory_.path()).size() == 2 ? wrong : wrong + "something is left behind";
  });
}

}  // namespace

}  // namespace cremone::test
