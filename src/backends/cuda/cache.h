// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk, a file each, for one user.
//
// They lie in the folder "cuda" of LANEPACK_CACHE_DIR, or of lanepack in XDG_CACHE_HOME or ~/.cache.
// A file's name is the hash of all that its content depends on. Files are written under another
// name and renamed, so that any number of processes may read and write at once. A file or folder
// that is not this user's alone to write, or a file that is damaged, is left unread: compiled code
// is run with the user's rights. Where no folder can be had there is no cache, and no word of it.
#ifndef LANEPACK_BACKENDS_CUDA_CACHE_H_
#define LANEPACK_BACKENDS_CUDA_CACHE_H_

#include <string>

#include "backends/cuda/compiler.h"
#include "backends/cuda/sha256.h"

namespace lanepack::cuda {

// The folder, made if it is not there; "" if there is none that may be used.
std::string cache_folder();

// False if there is no such entry, or none that may be trusted.
bool read_cached(const std::string& folder, const Digest& key, Image* image);

// Without effect where the folder cannot be written to.
void write_cached(const std::string& folder, const Digest& key, const Image& image);

}  // namespace lanepack::cuda

#endif  // LANEPACK_BACKENDS_CUDA_CACHE_H_
