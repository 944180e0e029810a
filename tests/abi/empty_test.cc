// SPDX-License-Identifier: Apache-2.0
// Sizes of zero: the results that exist are written, info is 0.
#include <gtest/gtest.h>

#include "calls.h"

namespace lanepack_test {
namespace {

template <class R>
void expect_identity(Matrices<R>* x) {
  for (int64_t b = 0; b < x->batch.batch; ++b) {
    for (int64_t j = 0; j < x->batch.cols; ++j) {
      for (int64_t i = 0; i < x->batch.rows; ++i) EXPECT_EQ(x->at(b, i, j), i == j ? 1 : 0);
    }
  }
}

template <class Call>
void expect_clean_info(const Call& call) {
  for (int32_t entry : call.info) EXPECT_EQ(entry, 0);
}

TEST(Empty, QrWithoutColumns) {
  Qr<float> complete(3, 4, 0, true);
  ASSERT_EQ(lanepack_qr(&complete.args), LANEPACK_STATUS_OK) << lanepack_last_error();
  expect_identity(&complete.q);
  expect_clean_info(complete);
  Qr<float> reduced(3, 4, 0);
  ASSERT_EQ(lanepack_qr(&reduced.args), LANEPACK_STATUS_OK) << lanepack_last_error();
  expect_clean_info(reduced);
}

TEST(Empty, QrWithoutRowsOrBatch) {
  for (bool complete : {false, true}) {
    Qr<double> rows(2, 0, 5, complete);
    EXPECT_EQ(lanepack_qr(&rows.args), LANEPACK_STATUS_OK) << lanepack_last_error();
    expect_clean_info(rows);
    Qr<double> batch(0, 7, 5, complete);
    EXPECT_EQ(lanepack_qr(&batch.args), LANEPACK_STATUS_OK) << lanepack_last_error();
  }
  Qr<double> r_alone(0, 7, 5);
  r_alone.args.q = {};
  EXPECT_EQ(lanepack_qr(&r_alone.args), LANEPACK_STATUS_OK) << lanepack_last_error();
}

TEST(Empty, Eigh) {
  Eigh<double> order(3, 0);
  EXPECT_EQ(lanepack_eigh(&order.args), LANEPACK_STATUS_OK) << lanepack_last_error();
  expect_clean_info(order);
  Eigh<double> batch(0, 3);
  EXPECT_EQ(lanepack_eigh(&batch.args), LANEPACK_STATUS_OK) << lanepack_last_error();
}

TEST(Empty, Svd) {
  for (bool full : {false, true}) {
    Svd<double> columns(2, 4, 0, full);
    EXPECT_EQ(lanepack_svd(&columns.args), LANEPACK_STATUS_OK) << lanepack_last_error();
    expect_clean_info(columns);
    expect_identity(&columns.u);
    Svd<double> rows(2, 0, 3, full);
    EXPECT_EQ(lanepack_svd(&rows.args), LANEPACK_STATUS_OK) << lanepack_last_error();
    expect_clean_info(rows);
    expect_identity(&rows.vh);
    Svd<double> batch(0, 4, 3, full);
    EXPECT_EQ(lanepack_svd(&batch.args), LANEPACK_STATUS_OK) << lanepack_last_error();
  }
}

TEST(Empty, ComplexIdentityWithStrides) {
  // u (1, 2, 2), row-major, of complex numbers, in every second place.
  double storage[16];
  for (double& value : storage) value = 7.0;
  lanepack_svd_args args = {};
  args.call.struct_size = sizeof(args);
  args.call.dtype = LANEPACK_DTYPE_C128;
  args.a = {nullptr, 2, 0, 1, 1, 2, 0};
  args.s = {nullptr, 0, 1, 1, 1, 1, 0};
  args.u = {storage, 2, 2, 1, 4, 2, 8};
  args.vh = {nullptr, 0, 0, 1, 1, 1, 0};
  ASSERT_EQ(lanepack_svd(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  const double expected[16] = {1, 0, 7, 7, 0, 0, 7, 7, 0, 0, 7, 7, 1, 0, 7, 7};
  for (int i = 0; i < 16; ++i) EXPECT_EQ(storage[i], expected[i]) << i;
}

}  // namespace
}  // namespace lanepack_test
