# SPDX-License-Identifier: Apache-2.0
"""The benchmark of CUDA tensors: `lanepack bench --device cuda`.

On a GPU a time means something by itself, so that a row has a target in milliseconds and a floor;
the rivals stand beside. `cases.csv` holds the rows.
"""
