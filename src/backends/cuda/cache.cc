// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lanepack::cuda {
namespace {

constexpr char kMagic[8] = {'l', 'n', 'p', 'k', 'c', 'u', 'd', 'a'};
constexpr uint32_t kFormat = 1;
// Far above any kernel: a length in a damaged file must not ask for all memory.
constexpr uint64_t kMaxBytes = uint64_t{1} << 28;

struct Header {
  char magic[8];
  uint32_t format;
  uint32_t name_bytes;
  uint64_t code_bytes;
  Digest key;
  Digest checksum;  // of name and code
};

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

  bool read_all(void* data, size_t bytes) const {
    char* next = static_cast<char*>(data);
    while (bytes > 0) {
      const ssize_t got = read(descriptor_, next, bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      next += got;
      bytes -= static_cast<size_t>(got);
    }
    return true;
  }
  bool write_all(const void* data, size_t bytes) const {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t put = write(descriptor_, next, bytes);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      next += put;
      bytes -= static_cast<size_t>(put);
    }
    return true;
  }

 private:
  int descriptor_;
};

// Of the wanted kind, this user's, and nobody else's to write. statx, since glibc 2.33 gave fstat a
// new version.
bool is_ours(const File& file, uint32_t kind, uint64_t* bytes) {
  struct statx found = {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_MODE | STATX_UID | STATX_SIZE;
  if (statx(file.get(), "", AT_EMPTY_PATH, kWanted, &found) != 0) return false;
  *bytes = found.stx_size;
  return (found.stx_mode & S_IFMT) == kind && found.stx_uid == geteuid() &&
         (found.stx_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The last part of the path must not be a link; what leads there may, as home folders do.
int open_folder(const std::string& folder) {
  return open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    mkdir(path.substr(0, end).c_str(), 0700);  // what is there already stays as it is
  }
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

Digest checksum_of(const Image& image) {
  Sha256 hash;
  hash.add_text(image.name);
  hash.add_text(image.code);
  return hash.finish();
}

std::string file_name(const Digest& key) { return hexadecimal(key) + ".kernel"; }

}  // namespace

std::string cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string folder = variable("LANEPACK_CACHE_DIR");
  if (folder.empty() && variable("XDG_CACHE_HOME").compare(0, 1, "/") == 0) {
    folder = variable("XDG_CACHE_HOME") + "/lanepack";
  }
  if (folder.empty() && !variable("HOME").empty()) folder = variable("HOME") + "/.cache/lanepack";
  if (folder.empty()) return "";
  folder += "/cuda";
  if (!make_folders(folder)) return "";
  const File opened(open_folder(folder));
  uint64_t bytes = 0;
  return opened.is_open() && is_ours(opened, S_IFDIR, &bytes) ? folder : "";
}

bool read_cached(const std::string& folder, const Digest& key, Image* image) {
  const File directory(open_folder(folder));
  if (!directory.is_open()) return false;
  const File file(openat(directory.get(), file_name(key).c_str(),
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  uint64_t bytes = 0;
  Header header;
  if (!file.is_open() || !is_ours(file, S_IFREG, &bytes) ||
      !file.read_all(&header, sizeof(header)) ||
      std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.format != kFormat ||
      header.key != key || header.code_bytes > kMaxBytes || header.name_bytes > kMaxBytes ||
      bytes != sizeof(header) + header.name_bytes + header.code_bytes) {
    return false;
  }
  image->name.assign(header.name_bytes, '\0');
  image->code.assign(header.code_bytes, '\0');
  return file.read_all(image->name.data(), image->name.size()) &&
         file.read_all(image->code.data(), image->code.size()) &&
         checksum_of(*image) == header.checksum;
}

void write_cached(const std::string& folder, const Digest& key, const Image& image) {
  const File directory(open_folder(folder));
  if (!directory.is_open() || image.code.size() > kMaxBytes) return;
  static std::atomic<unsigned> count{0};
  char temporary[64];
  std::snprintf(temporary, sizeof(temporary), "%d-%u.tmp", getpid(), count.fetch_add(1));
  Header header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.format = kFormat;
  header.name_bytes = static_cast<uint32_t>(image.name.size());
  header.code_bytes = image.code.size();
  header.key = key;
  header.checksum = checksum_of(image);
  bool written = false;
  {
    // A file of that name was left by a process that died and whose number is now ours.
    unlinkat(directory.get(), temporary, 0);
    const File file(openat(directory.get(), temporary,
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) return;
    written = file.write_all(&header, sizeof(header)) &&
              file.write_all(image.name.data(), image.name.size()) &&
              file.write_all(image.code.data(), image.code.size());
  }
  const std::string name = file_name(key);
  if (!written || renameat(directory.get(), temporary, directory.get(), name.c_str()) != 0) {
    unlinkat(directory.get(), temporary, 0);
  }
}

}  // namespace lanepack::cuda
