// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <dlfcn.h>

#include <cstdio>
#include <memory>

namespace lanepack::emulator {
namespace {

// "eigh/jacobi_thread.simt.h:31" from the last folders of a path, "" for what has no lines.
std::string short_place(std::string line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  const size_t note = line.find(" (");  // (discriminator 3)
  if (note != std::string::npos) line.resize(note);
  if (line.empty() || line[0] == '?') return "";
  const size_t slash = line.rfind('/');
  const size_t folder = slash == std::string::npos ? slash : line.rfind('/', slash - 1);
  return folder == std::string::npos ? line : line.substr(folder + 1);
}

// The line of an address, and those that called it as far as the compiler inlined them.
std::string lines_of(uintptr_t address) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr) return "";
  // Addresses are those after the call of a hook; one less lies in the line of the access.
  const auto offset = address - 1 - reinterpret_cast<uintptr_t>(info.dli_fbase);
  char command[4200];
  std::snprintf(command, sizeof(command), "addr2line -i -e '%s' 0x%zx 2>/dev/null", info.dli_fname,
                static_cast<size_t>(offset));
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command, "r"), pclose);
  if (pipe == nullptr) return "";
  std::string text;
  char line[1000];
  for (int found = 0; found < 3 && std::fgets(line, sizeof(line), pipe.get()) != nullptr;) {
    const std::string place = short_place(line);
    if (place.empty()) continue;
    text += (found == 0 ? "" : ", inlined at ") + place;
    ++found;
  }
  return text;
}

}  // namespace

const char* fault_name(Fault fault) {
  switch (fault) {
    case Fault::kSharedRace:
      return "race in shared memory";
    case Fault::kDeviceRace:
      return "race in device memory";
    case Fault::kBlockRace:
      return "race between blocks";
    case Fault::kDivergentBarrier:
      return "divergent barrier";
    case Fault::kExitBeforeBarrier:
      return "exit ahead of a barrier";
    case Fault::kDivergentWord:
      return "divergent word of a group";
    case Fault::kOutOfBounds:
      return "out of bounds";
    case Fault::kReadOnlyWrite:
      return "write to an input";
    case Fault::kUninitialised:
      return "uninitialised read";
    case Fault::kNotWritten:
      return "output not written";
    case Fault::kMisaligned:
      return "misaligned access";
    case Fault::kPrivateLeak:
      return "private memory of another lane";
    case Fault::kEndlessLoop:
      return "endless loop";
    case Fault::kUndefined:
      return "undefined behaviour";
    case Fault::kLimits:
      return "limits of a block";
  }
  return "unknown fault";
}

void Reports::add(Report report) {
  for (Report& known : reports_) {
    if (known.fault == report.fault && known.here == report.here && known.before == report.before &&
        (report.here != 0 || known.text == report.text)) {
      known.count += report.count;
      return;
    }
  }
  if (!full()) reports_.push_back(std::move(report));
}

bool Reports::has(Fault fault) const {
  for (const Report& report : reports_) {
    if (report.fault == fault) return true;
  }
  return false;
}

std::string Reports::describe() const {
  std::string text;
  for (const Report& report : reports_) {
    text += std::string(fault_name(report.fault)) + ": " + report.text;
    if (report.count > 1) text += " (and " + std::to_string(report.count - 1) + " more like it)";
    text += "\n";
    const std::string here = report.here != 0 ? lines_of(report.here) : "";
    const std::string before = report.before != 0 ? lines_of(report.before) : "";
    if (!here.empty()) text += "    at " + here + "\n";
    if (!before.empty()) text += "    after " + before + "\n";
  }
  return text;
}

}  // namespace lanepack::emulator
