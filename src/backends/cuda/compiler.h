// SPDX-License-Identifier: Apache-2.0
// NVRTC, NVIDIA's run-time compiler, opened at run time.
#ifndef LANEPACK_BACKENDS_CUDA_COMPILER_H_
#define LANEPACK_BACKENDS_CUDA_COMPILER_H_

#include <cstddef>
#include <string>

namespace lanepack::cuda {

struct ProgramObject;
using Program = ProgramObject*;

// The functions under their names without "nvrtc".
struct Compiler {
  int (*get_version)(int* major, int* minor);
  const char* (*get_error_string)(int result);
  int (*create_program)(Program* program, const char* source, const char* name, int header_count,
                        const char* const* headers, const char* const* include_names);
  int (*add_name_expression)(Program program, const char* expression);
  int (*compile_program)(Program program, int option_count, const char* const* options);
  int (*get_lowered_name)(Program program, const char* expression, const char** name);
  int (*get_log_size)(Program program, size_t* bytes);
  int (*get_log)(Program program, char* log);
  int (*get_cubin_size)(Program program, size_t* bytes);
  int (*get_cubin)(Program program, char* image);
  int (*get_ptx_size)(Program program, size_t* bytes);
  int (*get_ptx)(Program program, char* image);
  int (*destroy_program)(Program* program);
  int (*get_architecture_count)(int* count);
  int (*get_architectures)(int* architectures);
  int version;  // 13020 is 13.2
  std::string path;
  // 90 is sm_90. An array: a vector's copy asks for a symbol that libstdc++ has since GCC 11 only.
  int architectures[64];
  int architecture_count;
};

// An NVRTC of CUDA 12 or later, and not of a later major release than the driver (13000 is 13.0)
// can load code of: the one that LANEPACK_NVRTC_LIBRARY names; one that is loaded already, as
// torch's; the system's. Null if there is none, with `*problem` saying so, and looked for again at
// the next call, since one may be loaded later. Safe from several threads.
const Compiler* compiler(int driver_version, const char** problem);

// What to compile for a device of compute capability `architecture` (90): its machine code where
// the compiler knows it ("sm_90"), else the portable code of the latest architecture before it
// ("compute_90"), which the driver translates; "" if there is none.
std::string target_for(const Compiler& compiler, int architecture);

struct Image {
  std::string name;  // of the kernel inside, as the compiler wrote it
  std::string code;  // machine code, or portable code with a zero at its end
};

// Compiles `source` for `target` and instantiates `expression`, such as
// "eigh::kernel_thread<float, 3>". False: `*problem` is the compiler's text.
bool compile(const Compiler& compiler, const std::string& source, const char* expression,
             const std::string& target, const char* const* options, int option_count, Image* image,
             std::string* problem);

}  // namespace lanepack::cuda

#endif  // LANEPACK_BACKENDS_CUDA_COMPILER_H_
