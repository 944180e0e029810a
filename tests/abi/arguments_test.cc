// SPDX-License-Identifier: Apache-2.0
// Every field of every struct, spoiled one at a time: status and text.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "calls.h"

namespace lanepack_test {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

template <class Args>
struct Case {
  const char* name;
  std::function<void(Args*)> spoil;
  int status;
  std::string text;  // what the error must contain, after the function's name
};

// The fields that all operations share. `flag`: one that the operation does not know.
template <class Args>
std::vector<Case<Args>> common_cases(uint32_t flag) {
  constexpr int kInvalid = LANEPACK_STATUS_INVALID_ARGUMENT;
  constexpr int kUnsupported = LANEPACK_STATUS_UNSUPPORTED;
  return {
      {"struct_size 0", [](Args* x) { x->call.struct_size = 0; }, kInvalid, "struct_size is 0"},
      {"struct_size short", [](Args* x) { x->call.struct_size -= 8; }, kInvalid, "struct_size is"},
      {"struct_size long", [](Args* x) { x->call.struct_size += 8; }, kInvalid, "struct_size is"},
      {"dtype -1", [](Args* x) { x->call.dtype = -1; }, kInvalid, "dtype is -1"},
      {"dtype 4", [](Args* x) { x->call.dtype = 4; }, kInvalid, "dtype is 4"},
      {"device 3", [](Args* x) { x->call.device = 3; }, kInvalid, "device is 3"},
      {"CUDA index",
       [](Args* x) {
         x->call.device = LANEPACK_DEVICE_CUDA;
         x->call.device_index = -1;
       },
       kInvalid, "device_index is -1"},
      {"Metal", [](Args* x) { x->call.device = LANEPACK_DEVICE_METAL; }, kUnsupported, "Metal"},
      {"index", [](Args* x) { x->call.device_index = 1; }, kInvalid, "device_index is 1"},
      {"threads", [](Args* x) { x->call.threads = -2; }, kInvalid, "threads is -2"},
      {"routing", [](Args* x) { x->call.routing = 2; }, kInvalid, "routing is 2"},
      {"flags", [flag](Args* x) { x->call.flags = flag; }, kInvalid, "flags is 0x"},
      {"flag 31", [](Args* x) { x->call.flags = 1u << 31; }, kInvalid, "flags is 0x80000000"},
      {"stream", [](Args* x) { x->call.stream = x; }, kInvalid, "stream is not null"},
      {"workspace", [](Args* x) { x->call.workspace_bytes = -1; }, kInvalid, "workspace_bytes is"},
      {"rows", [](Args* x) { x->a.rows = -1; }, kInvalid, "a has -1 rows"},
      {"cols", [](Args* x) { x->a.cols = -7; }, kInvalid, "-7 columns"},
      {"batch", [](Args* x) { x->a.batch = -1; }, kInvalid, "batch of -1"},
      {"rows 2^63-1", [](Args* x) { x->a.rows = kHuge; }, kUnsupported, "at most 2147483647"},
      {"a null", [](Args* x) { x->a.data = nullptr; }, kInvalid, "a.data is null"},
      {"a stride", [](Args* x) { x->a.col_stride = kHuge; }, kInvalid, "address space"},
      {"a stride -", [](Args* x) { x->a.row_stride = -kHuge - 1; }, kInvalid, "address space"},
      {"a below 0", [](Args* x) { x->a.batch_stride = -(kHuge / 16); }, kInvalid, "address space"},
      {"a odd address", [](Args* x) { x->a.data = static_cast<char*>(x->a.data) + 1; }, kInvalid,
       "aligned to 4"},
      {"info odd address",
       [](Args* x) {
         x->call.info = reinterpret_cast<int32_t*>(reinterpret_cast<char*>(x->call.info) + 2);
       },
       kInvalid, "info is"},
  };
}

// Runs each case against the call and, where no pointer is at fault, against its workspace query;
// nothing may be written.
template <class Call, class Args>
void run_cases(const std::vector<Case<Args>>& cases, Call make, int (*run)(const Args*),
               int (*workspace)(const Args*, int64_t*), const std::string& name) {
  {
    auto good = make();
    ASSERT_EQ(run(&good.args), LANEPACK_STATUS_OK) << lanepack_last_error();
    EXPECT_EQ(last_error(), "");
  }
  for (const Case<Args>& c : cases) {
    SCOPED_TRACE(c.name);
    auto call = make();
    c.spoil(&call.args);
    EXPECT_EQ(run(&call.args), c.status);
    EXPECT_EQ(last_error().rfind(name + ": ", 0), 0u) << lanepack_last_error();
    EXPECT_NE(last_error().find(c.text), std::string::npos) << lanepack_last_error();
    for (int32_t entry : call.info) EXPECT_EQ(entry, -1);
    if (c.text.find("null") != std::string::npos && c.text.find("stream") == std::string::npos) {
      continue;
    }
    int64_t bytes = -1;
    EXPECT_EQ(workspace(&call.args, &bytes), c.status);
    EXPECT_EQ(bytes, -1);
    EXPECT_EQ(last_error().rfind(name + "_workspace: ", 0), 0u) << lanepack_last_error();
  }
}

TEST(Arguments, Qr) {
  using Args = lanepack_qr_args;
  constexpr int kInvalid = LANEPACK_STATUS_INVALID_ARGUMENT;
  auto cases = common_cases<Args>(LANEPACK_FLAG_UPPER);
  const std::vector<Case<Args>> own = {
      {"q shape", [](Args* x) { x->q.cols = 4; }, kInvalid,
       "q has shape (2, 5, 4); it must be (2, 5, 3) reduced or (2, 5, 5) complete"},
      {"q batch", [](Args* x) { x->q.batch = 1; }, kInvalid, "q has shape (1, 5, 3)"},
      {"r shape", [](Args* x) { x->r.rows = 5; }, kInvalid,
       "r has shape (2, 5, 3); it must be (2, 3, 3)"},
      {"r of R alone", [](Args* x) { x->q.data = nullptr, x->r.rows = 5; }, kInvalid,
       "r has shape (2, 5, 3); it must be (2, 3, 3)"},
      {"r null", [](Args* x) { x->r.data = nullptr; }, kInvalid, "r.data is null"},
      {"q row stride 0", [](Args* x) { x->q.row_stride = 0; }, kInvalid, "must not overlap"},
      {"r batch stride 0", [](Args* x) { x->r.batch_stride = 0; }, kInvalid, "must not overlap"},
      {"q strides meet", [](Args* x) { x->q.row_stride = 2, x->q.col_stride = 4; }, kInvalid,
       "must not overlap"},
      {"q is a", [](Args* x) { x->q.data = x->a.data; }, kInvalid, "a and q share memory"},
      {"q odd address", [](Args* x) { x->q.data = static_cast<char*>(x->q.data) + 2; }, kInvalid,
       "q.data is"},
  };
  cases.insert(cases.end(), own.begin(), own.end());
  run_cases(
      cases, [] { return Qr<float>(2, 5, 3); }, lanepack_qr, lanepack_qr_workspace, "lanepack_qr");
}

TEST(Arguments, Eigh) {
  using Args = lanepack_eigh_args;
  constexpr int kInvalid = LANEPACK_STATUS_INVALID_ARGUMENT;
  auto cases = common_cases<Args>(LANEPACK_FLAG_JACOBI);
  // A changed size of a alone is already not square.
  const std::vector<Case<Args>> own = {
      {"not square", [](Args* x) { x->a.rows = 3, x->a.cols = 4; }, kInvalid,
       "a has 3 rows and 4 columns; it must be square"},
      {"w shape", [](Args* x) { x->w.rows = 3; }, kInvalid,
       "w has shape (2, 3, 1); it must be (2, 4, 1)"},
      {"v shape", [](Args* x) { x->v.cols = 5; }, kInvalid,
       "v has shape (2, 4, 5); it must be (2, 4, 4)"},
      {"w null", [](Args* x) { x->w.data = nullptr; }, kInvalid, "w.data is null"},
      {"w stride 0", [](Args* x) { x->w.row_stride = 0; }, kInvalid, "must not overlap"},
      {"v is a", [](Args* x) { x->v.data = x->a.data; }, kInvalid, "a and v share memory"},
  };
  cases.insert(cases.end(), own.begin(), own.end());
  run_cases(
      cases, [] { return Eigh<float>(2, 4); }, lanepack_eigh, lanepack_eigh_workspace,
      "lanepack_eigh");
}

TEST(Arguments, Svd) {
  using Args = lanepack_svd_args;
  constexpr int kInvalid = LANEPACK_STATUS_INVALID_ARGUMENT;
  auto cases = common_cases<Args>(LANEPACK_FLAG_UPPER);
  const std::vector<Case<Args>> own = {
      {"s shape", [](Args* x) { x->s.rows = 5; }, kInvalid,
       "s has shape (2, 5, 1); it must be (2, 3, 1)"},
      {"u shape", [](Args* x) { x->u.cols = 4; }, kInvalid, "u has shape (2, 5, 4)"},
      {"u full, vh batch", [](Args* x) { x->vh.batch = 3; }, kInvalid, "and vh (3, 3, 3)"},
      {"u alone", [](Args* x) { x->vh.data = nullptr; }, kInvalid, "vh.data is null and the other"},
      {"vh alone", [](Args* x) { x->u.data = nullptr; }, kInvalid, "u.data is null and the other"},
      {"s null", [](Args* x) { x->s.data = nullptr; }, kInvalid, "s.data is null"},
      {"vh stride 0", [](Args* x) { x->vh.col_stride = 0; }, kInvalid, "must not overlap"},
      {"u is vh", [](Args* x) { x->u.data = x->vh.data; }, kInvalid, "u and vh share memory"},
  };
  cases.insert(cases.end(), own.begin(), own.end());
  run_cases(
      cases, [] { return Svd<float>(2, 5, 3); }, lanepack_svd, lanepack_svd_workspace,
      "lanepack_svd");
}

TEST(Arguments, TakesEveryInputStride) {
  Eigh<double> call(3, 4);
  const double first = call.a.at(0, 0, 0);
  call.args.a.row_stride = call.args.a.col_stride = call.args.a.batch_stride = 0;
  ASSERT_EQ(lanepack_eigh(&call.args), LANEPACK_STATUS_OK) << lanepack_last_error();
  // All entries equal `first`: rank one, its eigenvalue n * first.
  for (int64_t b = 0; b < 3; ++b) {
    const double largest = first > 0 ? call.w.at(b, 3, 0) : call.w.at(b, 0, 0);
    EXPECT_NEAR(largest, 4 * first, 10 * 4 * std::numeric_limits<double>::epsilon() * 4);
  }
}

TEST(Arguments, StrideOfOneEntryMayBeAnything) {
  for (int64_t stride : {kHuge, -kHuge - 1, int64_t{0}}) {
    Svd<double> call(1, 1, 3);
    call.args.a.row_stride = call.args.a.batch_stride = stride;
    call.args.s.row_stride = call.args.s.col_stride = call.args.s.batch_stride = stride;
    call.args.u.row_stride = call.args.u.col_stride = call.args.u.batch_stride = stride;
    call.args.vh.row_stride = call.args.vh.batch_stride = stride;
    ASSERT_EQ(lanepack_svd(&call.args), LANEPACK_STATUS_OK) << lanepack_last_error();
    for (int64_t j = 0; j < 3; ++j) {
      EXPECT_NEAR(call.u.at(0, 0, 0) * call.s.at(0, 0, 0) * call.vh.at(0, 0, j), call.a.at(0, 0, j),
                  1e-14);
    }
  }
}

TEST(Arguments, WorkspaceIsNone) {
  Svd<float> call(2, 5, 3);
  call.args.a.data = nullptr;
  call.args.s.data = nullptr;
  int64_t bytes = -1;
  EXPECT_EQ(lanepack_svd_workspace(&call.args, &bytes), LANEPACK_STATUS_OK)
      << lanepack_last_error();
  EXPECT_EQ(bytes, 0);
  EXPECT_EQ(lanepack_svd_workspace(&call.args, nullptr), LANEPACK_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(last_error(), "lanepack_svd_workspace: bytes is null; it must point to an int64_t");
}

}  // namespace
}  // namespace lanepack_test
