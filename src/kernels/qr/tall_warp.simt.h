// SPDX-License-Identifier: Apache-2.0
// QR of a tall matrix by Householder reflectors, the rows spread over the lanes of a group: lane l
// holds the rows l, l + width, ... Rows past the last are zero.
// Method: panels of four reflectors, applied as I - V T V^H (Schreiber and Van Loan 1989; LAPACK
// larft, larfb), LAPACK's signs; Q is formed backwards in place (LAPACK orgqr, ungqr).
// Storage: rows g * width + l of column j at a[j * ld + g] in lane l. The reflector vectors are
// stored with zeros above their head, and R apart from them, so that no inner loop has a mask.
// Cost: 2 n^2 (m - n / 3) operations, and as many again for Q.

namespace qr {

SIMT_CONSTANT int kPanel = 4;

// One matrix, or one block of its rows, as the steps below see it.
template <class S>
struct tall_block {
  SIMT_PRIVATE S* a;
  int ld, groups;  // groups of rows: m / width, rounded up
  SIMT_PRIVATE S* r;
  int r_ld;           // groups that hold n rows
  SIMT_PRIVATE S* t;  // T of each panel, one after another: element (i, j) at j * kPanel + i
};

// kColumns columns at c through kCount reflectors whose vectors start at v, for the groups of rows
// from `first` on. kForm: by I - V T V^H, else by its adjoint.
template <bool kForm, int kCount, int kColumns, class G, class S>
SIMT_FN void apply_panel_to(G group, SIMT_PRIVATE const S* v, int ld, SIMT_PRIVATE const S* t,
                            SIMT_PRIVATE S* c, int first, int groups) {
  S d[kCount][kColumns], e[kCount][kColumns];
  for (int k = 0; k < kCount; ++k) {
    for (int q = 0; q < kColumns; ++q) d[k][q] = simt::zero<S>();
  }
  for (int g = first; g < groups; ++g) {
    S x[kCount];
    for (int k = 0; k < kCount; ++k) x[k] = v[k * ld + g];
    for (int q = 0; q < kColumns; ++q) {
      const S z = c[q * ld + g];
      for (int k = 0; k < kCount; ++k) d[k][q] = simt::fma_conj(x[k], z, d[k][q]);
    }
  }
  for (int q = 0; q < kColumns; ++q) {
    for (int k = 0; k < kCount; ++k) d[k][q] = group.sum(d[k][q]);
    for (int k = 0; k < kCount; ++k) {
      e[k][q] = simt::zero<S>();
      const int begin = kForm ? k : 0, end = kForm ? kCount : k + 1;
      for (int l = begin; l < end; ++l) {
        e[k][q] = kForm ? simt::fma(t[l * kPanel + k], d[l][q], e[k][q])
                        : simt::fma_conj(t[k * kPanel + l], d[l][q], e[k][q]);
      }
    }
  }
  for (int g = first; g < groups; ++g) {
    S x[kCount];
    for (int k = 0; k < kCount; ++k) x[k] = v[k * ld + g];
    for (int q = 0; q < kColumns; ++q) {
      S z = c[q * ld + g];
      for (int k = 0; k < kCount; ++k) z = simt::fnma(x[k], e[k][q], z);
      c[q * ld + g] = z;
    }
  }
}

// The columns j0 <= j < j1 through the kCount reflectors from column k on; kColumns of them share
// the loads of the vectors.
template <bool kForm, int kCount, int kColumns, class G, class S>
SIMT_STEP void apply_panel(G group, tall_block<S> b, SIMT_PRIVATE const S* t, int k, int j0,
                           int j1) {
  const int first = k / group.width();
  SIMT_PRIVATE const S* v = b.a + k * b.ld;
  int j = j0;
  for (; j + kColumns <= j1; j += kColumns) {
    apply_panel_to<kForm, kCount, kColumns>(group, v, b.ld, t, b.a + j * b.ld, first, b.groups);
  }
  for (; j < j1; ++j) {
    apply_panel_to<kForm, kCount, 1>(group, v, b.ld, t, b.a + j * b.ld, first, b.groups);
  }
}

// Turns column k into its reflector: R's part of it goes to b.r. The reflector's tau.
template <class G, class S>
SIMT_STEP S reflect_tall_column(G group, tall_block<S> b, int k) {
  using T = simt::real_of<S>;
  SIMT_PRIVATE S* x = b.a + k * b.ld;
  SIMT_PRIVATE S* r = b.r + k * b.r_ld;
  const S zero = simt::zero<S>();
  const int g0 = k / group.width();
  const int head = k % group.width();
  const T index = group.lane();
  const simt::mask_of<T> above = index < simt::constant<T>(static_cast<float>(head));
  const simt::mask_of<T> below = index > simt::constant<T>(static_cast<float>(head));
  for (int g = 0; g < b.r_ld; ++g) r[g] = g < g0 ? x[g] : zero;
  for (int g = 0; g < g0; ++g) x[g] = zero;
  const S mixed = x[g0];
  const S rest = simt::select(below, mixed, zero);
  const T sigma = simt::norm2(rest, steps::sum_of_squares(x, g0 + 1, b.groups));
  const steps::reflector<S> h =
      steps::make_reflector(group.broadcast(mixed, head), group.sum(sigma));
  r[g0] = simt::select(above, mixed, simt::select(below, zero, simt::from_real<S>(h.beta)));
  x[g0] = simt::select(below, mixed, simt::select(above, zero, h.head));
  return h.tau;
}

// T of the kCount reflectors from column k on (LAPACK larft, forward).
template <int kCount, class G, class S>
SIMT_STEP void make_panel_factor(G group, tall_block<S> b, int k, SIMT_PRIVATE const S* tau,
                                 SIMT_PRIVATE S* t) {
  S gram[kCount][kCount];
  for (int j = 1; j < kCount; ++j) {
    for (int i = 0; i < j; ++i) gram[i][j] = simt::zero<S>();
  }
  SIMT_PRIVATE const S* v = b.a + k * b.ld;
  for (int g = k / group.width(); g < b.groups; ++g) {
    for (int j = 1; j < kCount; ++j) {
      const S y = v[j * b.ld + g];
      for (int i = 0; i < j; ++i) gram[i][j] = simt::fma_conj(v[i * b.ld + g], y, gram[i][j]);
    }
  }
  for (int j = 0; j < kCount; ++j) {
    t[j * kPanel + j] = tau[j];
    for (int i = 0; i < j; ++i) gram[i][j] = group.sum(gram[i][j]);
    for (int i = 0; i < j; ++i) {
      S s = simt::zero<S>();
      for (int l = i; l < j; ++l) s = simt::fma(t[l * kPanel + i], gram[l][j], s);
      t[j * kPanel + i] = -(tau[j] * s);
    }
  }
}

// A = Q R: reflectors and panel factors in place, R to b.r.
template <int kCount, int kColumns, class G, class S>
SIMT_STEP void factor_panel(G group, tall_block<S> b, int k, int n) {
  S tau[kCount];
  for (int i = 0; i < kCount; ++i) {
    tau[i] = reflect_tall_column(group, b, k + i);
    apply_panel<false, 1, 1>(group, b, tau + i, k + i, k + i + 1, k + kCount);
  }
  make_panel_factor<kCount>(group, b, k, tau, b.t + k * kPanel);
  apply_panel<false, kCount, kColumns>(group, b, b.t + k * kPanel, k, k + kCount, n);
}
template <int kColumns, class G, class S>
SIMT_STEP void factor_tall(G group, tall_block<S> b, int n) {
  int k = 0;
  for (; k + kPanel <= n; k += kPanel) factor_panel<kPanel, kColumns>(group, b, k, n);
  for (; k < n; ++k) factor_panel<1, kColumns>(group, b, k, n);
}

// The columns k .. k + kCount - 1, which hold those reflectors, become those columns of
// I - V T V^H.
template <int kCount, class G, class S>
SIMT_STEP void form_panel(G group, tall_block<S> b, int k) {
  using T = simt::real_of<S>;
  const S one = simt::from_real<S>(simt::constant<T>(1.0f));
  const T index = group.lane();
  SIMT_PRIVATE S* v = b.a + k * b.ld;
  SIMT_PRIVATE const S* t = b.t + k * kPanel;
  S e[kCount][kCount];
  for (int q = 0; q < kCount; ++q) {
    S top[kCount];  // conj of row k + q of V, zero right of its diagonal
    for (int l = 0; l <= q; ++l) {
      const S x = v[l * b.ld + (k + q) / group.width()];
      top[l] = simt::conj(group.broadcast(x, (k + q) % group.width()));
    }
    for (int s = 0; s < kCount; ++s) {
      e[s][q] = simt::zero<S>();
      for (int l = s; l <= q; ++l) e[s][q] = simt::fma(t[l * kPanel + s], top[l], e[s][q]);
    }
  }
  const int last_mixed = (k + kCount - 1) / group.width();
  for (int g = k / group.width(); g < b.groups; ++g) {
    S x[kCount];
    for (int s = 0; s < kCount; ++s) x[s] = v[s * b.ld + g];
    for (int q = 0; q < kCount; ++q) {
      S z = simt::zero<S>();
      if (g <= last_mixed) {
        const int unit = k + q - g * group.width();
        z = simt::select(index == simt::constant<T>(static_cast<float>(unit)), one, z);
      }
      for (int s = 0; s < kCount; ++s) z = simt::fnma(x[s], e[s][q], z);
      v[q * b.ld + g] = z;
    }
  }
}

// The reflectors become the n columns of Q.
template <int kColumns, class G, class S>
SIMT_STEP void form_tall_q(G group, tall_block<S> b, int n) {
  const int whole = n - n % kPanel;
  for (int k = n - 1; k >= whole; --k) {
    apply_panel<true, 1, kColumns>(group, b, b.t + k * kPanel, k, k + 1, n);
    form_panel<1>(group, b, k);
  }
  for (int k = whole - kPanel; k >= 0; k -= kPanel) {
    apply_panel<true, kPanel, kColumns>(group, b, b.t + k * kPanel, k, k + kPanel, n);
    form_panel<kPanel>(group, b, k);
  }
}

// y <- x c for kRows groups of rows and kColumns columns; c is uniform, element (i, j) at
// c[(j * c_ld + i) * parts].
template <int kRows, int kColumns, class S>
SIMT_FN void multiply_tile(SIMT_PRIVATE const S* x, SIMT_PRIVATE S* y, int ld, int n,
                           SIMT_SHARED const typename simt::traits<S>::scalar* c, int c_ld) {
  constexpr int kParts = simt::traits<S>::kComplex ? 2 : 1;
  S z[kRows][kColumns];
  for (int q = 0; q < kColumns; ++q) {
    for (int g = 0; g < kRows; ++g) z[g][q] = simt::zero<S>();
  }
  for (int i = 0; i < n; ++i) {
    S u[kRows];
    for (int g = 0; g < kRows; ++g) u[g] = x[i * ld + g];
    for (int q = 0; q < kColumns; ++q) {
      const S w = simt::uniform<S>(c + (q * c_ld + i) * kParts);
      for (int g = 0; g < kRows; ++g) z[g][q] = simt::fma(u[g], w, z[g][q]);
    }
  }
  for (int q = 0; q < kColumns; ++q) {
    for (int g = 0; g < kRows; ++g) y[q * ld + g] = z[g][q];
  }
}
// kRows groups of rows through all columns of c: what they hold of x stays in the first level of
// the cache while c passes.
template <int kRows, int kColumns, class S>
SIMT_STEP void multiply_groups(SIMT_PRIVATE const S* x, SIMT_PRIVATE S* y, int ld, int n,
                               SIMT_SHARED const typename simt::traits<S>::scalar* c, int c_ld) {
  constexpr int kParts = simt::traits<S>::kComplex ? 2 : 1;
  int j = 0;
  for (; j + kColumns <= n; j += kColumns) {
    multiply_tile<kRows, kColumns>(x, y + j * ld, ld, n, c + j * c_ld * kParts, c_ld);
  }
  for (; j < n; ++j) {
    multiply_tile<kRows, 1>(x, y + j * ld, ld, n, c + j * c_ld * kParts, c_ld);
  }
}
template <int kRows, int kColumns, class S>
SIMT_FN void multiply(SIMT_PRIVATE const S* x, SIMT_PRIVATE S* y, int ld, int groups, int n,
                      SIMT_SHARED const typename simt::traits<S>::scalar* c, int c_ld) {
  int g = 0;
  for (; g + kRows <= groups; g += kRows) {
    multiply_groups<kRows, kColumns>(x + g, y + g, ld, n, c, c_ld);
  }
  for (; g < groups; ++g) multiply_groups<1, kColumns>(x + g, y + g, ld, n, c, c_ld);
}

}  // namespace qr
