// SPDX-License-Identifier: Apache-2.0
//
// Other users, and what a file has besides its content: owner, set-id bits, access control lists, attributes. Needs root, as CI has, to be
// somebody else.
#include "fence/file_fixture.hpp"
#include "fence/no_tmpfile.hpp"
#include "scenario/child_process.hpp"

#include <grp.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>

namespace cremone::test {

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uid_t nobody = 65534;
constexpr gid_t a_group = 4242;

/// What this does as `nobody`, a member of this group: empty if it was content.
std::string as_nobody(const std::function<std::string()>& act, gid_t group = nobody) {
  return in_child([&]() -> std::string {
    if (::setgroups(1, &group) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0) {
      return "this test needs root, to be somebody else";
    }
    return act();
  });
}

/// An access control list as the kernel keeps it: version, then tag, permissions and id for each entry.
std::string acl_with_group(gid_t group) {
  struct entry {
    std::uint16_t tag;
    std::uint16_t rights;
    std::uint32_t id;
  };
  constexpr std::uint32_t none = 0xffffffffU;
  const std::array<entry, 5> entries = {entry{0x01, 6, none}, entry{0x04, 4, none}, entry{0x08, 6, group},
                                        entry{0x10, 6, none}, entry{0x20, 0, none}};
  std::string bytes("\2\0\0\0", 4);
  bytes.append(reinterpret_cast<const char*>(entries.data()), sizeof entries);
  return bytes;
}

std::string attribute(const std::string& path, const char* name) {
  std::string value(1000, '\0');
  const ssize_t size = ::getxattr(path.c_str(), name, value.data(), value.size());
  return size < 0 ? "(none)" : value.substr(0, static_cast<std::size_t>(size));
}

class FencedFileRights : public FencedFile {
 protected:
  FencedFileRights() { ::chmod(directory_.path().c_str(), 0755); }

  /// With an owner and a mode, and with the token 5.
  void make(uid_t owner, gid_t group, mode_t mode) {
    fill(path(), "old");
    ASSERT_EQ(::chown(path().c_str(), owner, group), 0);
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    ASSERT_TRUE(fenced_file(path()).check(fence_token(5)));
  }
  void open_directory() { ASSERT_EQ(::chmod(directory_.path().c_str(), 0777), 0); }
  void expect_untouched() {
    EXPECT_EQ(content_of(path()), "old");
    EXPECT_EQ(highest_of(path()), 5U);
    EXPECT_THAT(names_in(directory_.path()), ElementsAre("report", "report.fence"));
  }
};

TEST_F(FencedFileRights, OwnerGroupAndSetIdBitsAreKept) {
  make(nobody, a_group, 06750);
  EXPECT_TRUE(fenced_file(path()).write(fence_token(6), "new"));
  EXPECT_EQ(status_of(path()).st_uid, nobody);
  EXPECT_EQ(status_of(path()).st_gid, a_group);
  EXPECT_EQ(mode_of(path()), 06750U);
  EXPECT_EQ(status_of(path("report.fence")).st_uid, nobody);
  EXPECT_EQ(status_of(path("report.fence")).st_gid, a_group);
  EXPECT_EQ(mode_of(path("report.fence")), 0640U);
}

TEST_F(FencedFileRights, AnAccessControlListAndAttributesAreKept) {
  make(0, 0, 0640);
  const std::string acl = acl_with_group(a_group);
  ASSERT_EQ(::setxattr(path().c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0), 0);
  ASSERT_EQ(::setxattr(path().c_str(), "user.origin", "here", 4, 0), 0);
  const unsigned mode = mode_of(path());
  EXPECT_TRUE(fenced_file(path()).write(fence_token(6), "new"));
  EXPECT_EQ(attribute(path(), "system.posix_acl_access"), acl);
  EXPECT_EQ(attribute(path(), "user.origin"), "here");
  EXPECT_EQ(mode_of(path()), mode);
  std::filesystem::remove(path("report.fence"));
  EXPECT_TRUE(fenced_file(path()).write(fence_token(6), "new"));
  EXPECT_EQ(attribute(path("report.fence"), "system.posix_acl_access"), acl)
      << "who may write the one may write the other";
}

TEST_F(FencedFileRights, ADirectorysDefaultsAreForNewFilesOnly) {
  make(0, 0, 0640);
  const std::string acl = acl_with_group(a_group);
  ASSERT_EQ(::setxattr(directory_.path().c_str(), "system.posix_acl_default", acl.data(), acl.size(), 0), 0);
  EXPECT_TRUE(fenced_file(path()).write(fence_token(6), "new"));
  EXPECT_EQ(attribute(path(), "system.posix_acl_access"), "(none)");
  EXPECT_EQ(mode_of(path()), 0640U);
  EXPECT_TRUE(fenced_file(path("other")).write(fence_token(6), "new"));
  fill(path("as the shell does"), "x");
  EXPECT_EQ(attribute(path("other"), "system.posix_acl_access"),
            attribute(path("as the shell does"), "system.posix_acl_access"));
  EXPECT_EQ(mode_of(path("other")), mode_of(path("as the shell does")));
  EXPECT_NE(attribute(path("other"), "system.posix_acl_access"), "(none)");
}

TEST_F(FencedFileRights, ANewFileInASetGroupIdDirectoryHasItsGroup) {
  ASSERT_EQ(::chown(directory_.path().c_str(), 0, a_group), 0);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 02755), 0);
  EXPECT_TRUE(fenced_file(path()).write(fence_token(1), "x"));
  EXPECT_EQ(status_of(path()).st_gid, a_group);
}

TEST_F(FencedFileRights, WhoMayNotWriteToTheDirectoryIsToldWhich) {
  make(nobody, nobody, 0644);
  const std::string wrong =
      as_nobody([&] { return wrong_unless(fenced_file(path()).write(fence_token(6), "x")); });
  EXPECT_THAT(wrong, AllOf(StartsWith("access_denied"), HasSubstr("directory '" + directory_.path() + "'")));
  expect_untouched();
  EXPECT_EQ(as_nobody([&] { return wrong_unless(fenced_file(path()).append(fence_token(6), "er")); }), "")
      << "an append makes no new file";
  EXPECT_EQ(content_of(path()), "older");
}

TEST_F(FencedFileRights, WhoMayNotKeepTheOwnerIsRefused) {
  make(0, a_group, 0664);
  open_directory();
  const std::string wrong =
      as_nobody([&] { return wrong_unless(fenced_file(path()).write(fence_token(6), "x")); }, a_group);
  EXPECT_THAT(
      wrong, AllOf(StartsWith("access_denied"), HasSubstr("the owner (uid 0, gid 4242)"), HasSubstr(path())));
  expect_untouched();
  EXPECT_EQ(
      as_nobody([&] { return wrong_unless(fenced_file(path()).append(fence_token(6), "er")); }, a_group), "");
  EXPECT_EQ(content_of(path()), "older");
}

TEST_F(FencedFileRights, WhoMayNotWriteTheFileIsRefusedThoughTheDirectoryIsOpenToAll) {
  make(0, 0, 0644);
  open_directory();
  for (const bool append : {false, true}) {
    const std::string wrong = as_nobody([&] {
      const fenced_file file(path());
      return wrong_unless(append ? file.append(fence_token(6), "x") : file.write(fence_token(6), "x"));
    });
    EXPECT_THAT(wrong, StartsWith("access_denied"));
    expect_untouched();
  }
}

TEST_F(FencedFileRights, WhoMayOnlyReadCanAskForTheToken) {
  make(0, 0, 0644);
  EXPECT_EQ(as_nobody([&]() -> std::string {
              const auto highest = fenced_file(path()).highest();
              return highest ? (highest->value() == 5 ? "" : "another token") : highest.error().message();
            }),
            "");
}

TEST_F(FencedFileRights, ATokenThatTheFilesOwnerMayNotWriteIsExplained) {
  make(nobody, nobody, 0644);
  open_directory();
  ASSERT_EQ(::chown(path("report.fence").c_str(), 0, 0), 0);
  const auto write = [&] { return wrong_unless(fenced_file(path()).write(fence_token(6), "x")); };
  EXPECT_THAT(as_nobody(write),
              AllOf(StartsWith("access_denied"), HasSubstr("report.fence"), HasSubstr("owner")));
  expect_untouched();
  EXPECT_TRUE(fenced_file(path()).write(fence_token(6), "y")) << "root writes, and sets it right";
  EXPECT_EQ(as_nobody(write), "");
  EXPECT_EQ(content_of(path()), "x");
}

TEST_F(FencedFileRights, ALinkThatSomebodyElseMadeWhereAnybodyCanIsNotFollowed) {
  ASSERT_EQ(::chmod(directory_.path().c_str(), 01777), 0);
  fill(path("precious"), "old");
  std::filesystem::create_symlink("precious", path());
  ASSERT_EQ(::lchown(path().c_str(), nobody, nobody), 0);
  const auto done = fenced_file(path()).write(fence_token(1), "x");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), errc::access_denied);
  EXPECT_EQ(content_of(path("precious")), "old");
}

TEST_F(FencedFileRights, ATokenThatSomebodyElseMadeWhereAnybodyCanIsNotBelieved) {
  make(0, 0, 0644);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 01777), 0);
  ASSERT_EQ(::chown(path("report.fence").c_str(), nobody, nobody), 0);
  const fenced_file file(path());
  for (const auto& done :
       {file.write(fence_token(6), "x"), file.append(fence_token(6), "x"), file.check(fence_token(6))}) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), errc::access_denied);
    EXPECT_THAT(done.error().message(), AllOf(HasSubstr(path("report.fence")), HasSubstr("uid 65534")));
  }
  EXPECT_EQ(file.highest().error().code(), errc::access_denied);
  EXPECT_EQ(content_of(path()), "old");
  ASSERT_EQ(::chown(path().c_str(), nobody, nobody), 0);
  EXPECT_TRUE(file.write(fence_token(6), "new")) << "the file is that user's too";
  ASSERT_EQ(::chown(path("report.fence").c_str(), 0, 0), 0);
  ASSERT_EQ(::chmod(path("report.fence").c_str(), 0666), 0);
  EXPECT_EQ(as_nobody([&] { return wrong_unless(fenced_file(path()).append(fence_token(6), "er")); }), "")
      << "root may have made it";
}

TEST_F(FencedFileRights, WhatIsToBeAppendedIsForNobodysEyesBeforeItIs) {
  make(0, 0, 0600);
  const std::string wrong = in_child([&]() -> std::string {
    std::string seen;
    auto source = [&, asked = 0](std::span<char> to) mutable -> result<std::size_t> {
      if (asked++ > 0) {
        for (const std::string& name : names_in(directory_.path())) {
          seen += name.starts_with(".report.fence-new") ? std::to_string(mode_of(path(name))) : "";
        }
        return std::size_t{0};
      }
      to[0] = '!';
      return std::size_t{1};
    };
    ::umask(0);
    if (!forbid_unnamed_files()) {
      return "no filter";
    }
    const std::string says = wrong_unless(fenced_file(path()).append(fence_token(6), std::move(source)));
    const std::string first =
        wrong_unless(fenced_file(path("first")).append(fence_token(6), pieces_of("a new one")));
    return says + first + (seen == std::to_string(0600) ? "" : "modes: " + seen);
  });
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(content_of(path()), "old!");
  EXPECT_EQ(content_of(path("first")), "a new one");
  EXPECT_EQ(mode_of(path("first")), 0666U) << "what becomes a file is widened";
  EXPECT_THAT(names_in(directory_.path()), ElementsAre("first", "first.fence", "report", "report.fence"));
}

}  // namespace

}  // namespace cremone::test
