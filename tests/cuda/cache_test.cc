// SPDX-License-Identifier: Apache-2.0
// The cache of compiled kernels: what it takes, and everything that it must not.
#include "backends/cuda/cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "backends/cuda/sha256.h"

namespace lanepack::cuda {
namespace {

std::string digest_of(const std::string& text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hexadecimal(hash.finish());
}

TEST(Sha256, GivesTheStandardsValues) {
  EXPECT_EQ(digest_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, TellsTextsApart) {
  Sha256 one;
  one.add_text("ab");
  one.add_text("c");
  Sha256 other;
  other.add_text("a");
  other.add_text("bc");
  EXPECT_NE(one.finish(), other.finish());
}

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/lanepack_cache_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    setenv("LANEPACK_CACHE_DIR", name, 1);
    folder_ = cache_folder();
    ASSERT_EQ(folder_, root_ + "/cuda");
    Sha256 hash;
    hash.add_text("key");
    key_ = hash.finish();
    image_.name = "_Z6kernelv";
    image_.code = std::string("\0\1code\0", 7) + std::string(5000, 'x');
    write_cached(folder_, key_, image_);
    file_ = folder_ + "/" + hexadecimal(key_) + ".kernel";
  }
  void TearDown() override {
    const std::string command = "rm -rf '" + root_ + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  bool readable() {
    Image found;
    const bool right = read_cached(folder_, key_, &found);
    if (right) {
      EXPECT_EQ(found.name, image_.name);
      EXPECT_EQ(found.code, image_.code);
    }
    return right;
  }
  std::string content() {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void replace(const std::string& content) {
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << content;
  }

  std::string root_, folder_, file_;
  Digest key_;
  Image image_;
};

TEST_F(Cache, GivesBackWhatWasWritten) {
  EXPECT_TRUE(readable());
  Digest other = key_;
  other[0] ^= 1;
  Image found;
  EXPECT_FALSE(read_cached(folder_, other, &found));
  struct stat status;
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(stat(folder_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(Cache, RefusesEveryDamage) {
  const std::string whole = content();
  ASSERT_TRUE(readable());
  for (size_t at = 0; at < whole.size(); at += at < 200 ? 1 : 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    replace(damaged);
    EXPECT_FALSE(readable()) << "byte " << at;
  }
  for (size_t size : {size_t{0}, size_t{5}, size_t{100}, whole.size() - 1}) {
    replace(whole.substr(0, size));
    EXPECT_FALSE(readable()) << size << " bytes";
  }
  replace(whole + "x");
  EXPECT_FALSE(readable());
  write_cached(folder_, key_, image_);
  EXPECT_TRUE(readable());
}

TEST_F(Cache, RefusesAnotherKeysFile) {
  Digest other = key_;
  other[31] ^= 1;
  const std::string name = folder_ + "/" + hexadecimal(other) + ".kernel";
  ASSERT_EQ(rename(file_.c_str(), name.c_str()), 0);
  Image found;
  EXPECT_FALSE(read_cached(folder_, other, &found));
}

TEST_F(Cache, RefusesWhatOthersMayWrite) {
  for (mode_t mode : {0620, 0602, 0666}) {
    ASSERT_EQ(chmod(file_.c_str(), mode), 0);
    EXPECT_FALSE(readable()) << std::oct << mode;
  }
  ASSERT_EQ(chmod(file_.c_str(), 0644), 0);
  EXPECT_TRUE(readable());
  if (geteuid() == 0) {
    ASSERT_EQ(chown(file_.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(readable());
  }
}

TEST_F(Cache, RefusesLinksAndOtherKinds) {
  const std::string elsewhere = root_ + "/elsewhere";
  ASSERT_EQ(rename(file_.c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), file_.c_str()), 0);
  EXPECT_FALSE(readable());
  ASSERT_EQ(unlink(file_.c_str()), 0);
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_FALSE(readable());  // and does not wait for a writer
  ASSERT_EQ(unlink(file_.c_str()), 0);
  ASSERT_EQ(mkdir(file_.c_str(), 0700), 0);
  EXPECT_FALSE(readable());
}

TEST_F(Cache, RefusesAFolderThatIsNotOurs) {
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  EXPECT_EQ(cache_folder(), "");
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  EXPECT_EQ(cache_folder(), folder_);
  const std::string elsewhere = root_ + "/elsewhere";
  ASSERT_EQ(rename(folder_.c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), folder_.c_str()), 0);
  EXPECT_EQ(cache_folder(), "");
  EXPECT_FALSE(readable());
}

TEST_F(Cache, IsSilentWhereNothingCanBeWritten) {
  setenv("LANEPACK_CACHE_DIR", "/proc/lanepack", 1);
  EXPECT_EQ(cache_folder(), "");
  write_cached("/proc/lanepack/cuda", key_, image_);
  if (geteuid() != 0) {
    ASSERT_EQ(chmod(folder_.c_str(), 0500), 0);
    Digest other = key_;
    other[0] ^= 1;
    write_cached(folder_, other, image_);
    EXPECT_TRUE(readable());
    ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  }
}

TEST_F(Cache, FollowsTheUsersFolders) {
  unsetenv("LANEPACK_CACHE_DIR");
  setenv("XDG_CACHE_HOME", (root_ + "/xdg").c_str(), 1);
  EXPECT_EQ(cache_folder(), root_ + "/xdg/lanepack/cuda");
  setenv("XDG_CACHE_HOME", "relative", 1);  // the standard: to be ignored
  setenv("HOME", root_.c_str(), 1);
  EXPECT_EQ(cache_folder(), root_ + "/.cache/lanepack/cuda");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(cache_folder(), "");
}

TEST_F(Cache, ManyProcessesWriteAndReadAtOnce) {
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      Image found;
      for (int i = 0; i < 300; ++i) {
        write_cached(folder_, key_, image_);
        if (!read_cached(folder_, key_, &found) || found.code != image_.code) _exit(1);
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_TRUE(readable());
  const std::string command = "test -z \"$(find '" + folder_ + "' -name '*.tmp')\"";
  EXPECT_EQ(std::system(command.c_str()), 0) << "temporary files are left";
}

}  // namespace
}  // namespace lanepack::cuda
