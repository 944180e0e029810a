# SPDX-License-Identifier: Apache-2.0
"""`python -m lanepack` is the command `lanepack`."""

import sys

from .cli import main

sys.exit(main())
