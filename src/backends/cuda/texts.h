// SPDX-License-Identifier: Apache-2.0
// The kernel texts inside the library, as the run-time compiler gets them: flattened by
// cmake/flatten_texts.cmake from texts/<key>.h.
#ifndef LANEPACK_BACKENDS_CUDA_TEXTS_H_
#define LANEPACK_BACKENDS_CUDA_TEXTS_H_

#include <cstddef>

namespace lanepack::cuda {

struct Text {
  const char* key;
  const char* const* pieces;  // a null behind the last
};

struct TextList {
  const Text* texts;
  size_t count;
};

TextList texts();

}  // namespace lanepack::cuda

#endif  // LANEPACK_BACKENDS_CUDA_TEXTS_H_
