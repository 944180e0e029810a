# SPDX-License-Identifier: Apache-2.0
"""The benchmark: lanepack beside the other libraries on this machine, row by row of one case table.

`lanepack bench` is its command line. A speed is always a ratio to a rival measured in the same run,
on the same data; `cases.csv` holds the rows and what each must reach.
"""
