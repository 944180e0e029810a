// SPDX-License-Identifier: Apache-2.0
// The SIMT dialect for CPU lanes, all of it. Included once per instruction set through Highway's
// foreach_target; docs/dialect.md lists the words. Each part guards itself per target.
#include "dialect/lanes_complex.h"
#include "dialect/lanes_lone.h"
#include "dialect/lanes_real.h"
#include "dialect/lanes_tiles.h"
#include "dialect/lanes_types.h"
