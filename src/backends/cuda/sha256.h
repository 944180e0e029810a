// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for the names and checksums of cached kernels.
#ifndef LANEPACK_BACKENDS_CUDA_SHA256_H_
#define LANEPACK_BACKENDS_CUDA_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace lanepack::cuda {

using Digest = std::array<uint8_t, 32>;

class Sha256 {
 public:
  void add(const void* data, size_t bytes);
  // A text and its length, so that two texts in a row cannot be taken for two others.
  void add_text(const std::string& text);
  Digest finish();

 private:
  void add_block(const uint8_t* block);

  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint8_t block_[64];
  uint64_t bytes_ = 0;
};

std::string hexadecimal(const Digest& digest);

}  // namespace lanepack::cuda

#endif  // LANEPACK_BACKENDS_CUDA_SHA256_H_
