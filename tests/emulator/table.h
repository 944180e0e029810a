// SPDX-License-Identifier: Apache-2.0
// Kernels that can be run by name.
#ifndef LANEPACK_TESTS_EMULATOR_TABLE_H_
#define LANEPACK_TESTS_EMULATOR_TABLE_H_

namespace lanepack::emulator {

struct Entry {
  const char* name;  // the name expression, such as "eigh::kernel_thread<float, 3>"
  void (*run)(const void* arguments);
};

// Calls the kernel with arguments by value, as a launch does: they lie on the lane's own stack. Their
// copy is no access of the kernel's, into which a small one would be inlined otherwise.
template <class Arguments, void (*kKernel)(Arguments)>
__attribute__((no_sanitize_thread)) void run_kernel(const void* arguments) {
  kKernel(*static_cast<const Arguments*>(arguments));
}

}  // namespace lanepack::emulator

// An Entry of a kernel; the name is what is written.
#define LANEPACK_KERNEL(Arguments, ...) \
  { #__VA_ARGS__, lanepack::emulator::run_kernel < Arguments, __VA_ARGS__> }

#endif  // LANEPACK_TESTS_EMULATOR_TABLE_H_
