// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "fake_driver.h"

namespace {

FakeNvrtc make_state() {
  FakeNvrtc state = {};
  state.major = 13;
  state.minor = 2;
  const int architectures[] = {75, 80, 90, 100};
  std::memcpy(state.architectures, architectures, sizeof(architectures));
  const char* result = std::getenv("FAKE_NVRTC_COMPILE");
  state.compile_result = result == nullptr ? 0 : std::atoi(result);
  return state;
}

FakeNvrtc g_state = make_state();

struct Program {
  std::string name;
  std::string code;
  std::string log;
};

}  // namespace

extern "C" {

FakeNvrtc* fake_nvrtc() { return &g_state; }

int nvrtcVersion(int* major, int* minor) {
  *major = g_state.major;
  *minor = g_state.minor;
  return 0;
}
const char* nvrtcGetErrorString(int result) {
  return result == 6 ? "NVRTC_ERROR_COMPILATION" : "some error";
}
int nvrtcCreateProgram(Program** program, const char* source, const char*, int, const char* const*,
                       const char* const*) {
  g_state.source_bytes = std::strlen(source);
  *program = new Program;
  return 0;
}
int nvrtcAddNameExpression(Program* program, const char* expression) {
  std::snprintf(g_state.expression, sizeof(g_state.expression), "%s", expression);
  program->name = std::string("lowered ") + expression;
  return 0;
}
int nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  ++g_state.compiled;
  std::string all;
  for (int i = 0; i < count; ++i) all += (i > 0 ? " " : "") + std::string(options[i]);
  std::snprintf(g_state.options, sizeof(g_state.options), "%s", all.c_str());
  program->code = "fake code of " + program->name;
  program->log = "line 7: no such word";
  return g_state.compile_result;
}
int nvrtcGetLoweredName(Program* program, const char*, const char** name) {
  *name = program->name.c_str();
  return 0;
}
int nvrtcGetProgramLogSize(Program* program, size_t* bytes) {
  *bytes = program->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(Program* program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return 0;
}
int nvrtcGetCUBINSize(Program* program, size_t* bytes) {
  *bytes = program->code.size() + 1;
  return 0;
}
int nvrtcGetCUBIN(Program* program, char* code) {
  std::memcpy(code, program->code.c_str(), program->code.size() + 1);
  return 0;
}
int nvrtcGetPTXSize(Program* program, size_t* bytes) { return nvrtcGetCUBINSize(program, bytes); }
int nvrtcGetPTX(Program* program, char* code) { return nvrtcGetCUBIN(program, code); }
int nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
int nvrtcGetNumSupportedArchs(int* count) {
  *count = 0;
  for (int architecture : g_state.architectures) *count += architecture != 0;
  return 0;
}
int nvrtcGetSupportedArchs(int* architectures) {
  for (int architecture : g_state.architectures) {
    if (architecture != 0) *architectures++ = architecture;
  }
  return 0;
}

}  // extern "C"
