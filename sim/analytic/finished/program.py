"""Cycles of programs whose cores finish C that no field of a config gives.

They are a least-squares fit to the cycles from the begin marker to the end marker of
``spica run KERNEL --preset virgo --size MxNxK --c FORMAT --no-lockstep``: the four kernels of
`COSTS`, C in FP16 and FP32, and the products `FITTED`. Cores of another shape, another compiler and
other timing of DRAM take other cycles.
"""

#: Products of the fit.
FITTED = (
    *((16, 16, 16), (48, 80, 112), (64, 64, 64), (64, 64, 256), (100, 60, 90), (128, 64, 64)),
    *((128, 64, 128), (128, 64, 512), (128, 128, 128), (128, 256, 32), (192, 128, 256)),
    *((250, 130, 70), (256, 256, 64), (256, 256, 128), (256, 256, 256)),
)
#: From the command of the first compute to that of the first store: the choice of the plan.
PLAN = 781
#: From the last finished row of a tile to the command of the store of the next one.
RELEASE = 687
#: From the last row of a tile in shared memory to the first row that the cores finish; more for the
#: first tile.
HAND, FIRST = 796, 31
#: From the start of the first load to the earliest first row: all warps start and fetch.
STARTED = 1481
#: From the last finished row to the end marker.
END = 134
#: Cycles of a row of a tile by kernel and way of writing: issue slots of the core for each warp
#: with a part of the row, and the least cycles of a warp. ``words``: two FP16 elements at once;
#: ``fp16`` and ``fp32``: element by element; ``dense``: words, where a row of C is no longer than a
#: row of a tile, and reading C meets lines that the L2 has prefetched.
COSTS = {
    "gemm_bias": {"words": (6.8, 71.5), "fp16": (19.0, 167.8), "fp32": (16.8, 122.5)},
    "gemm_bias_relu": {"words": (17.9, 125.2), "fp16": (23.2, 235.2), "fp32": (24.5, 154.8)},
    "gemm_add": {
        "words": (18.8, 29.1),
        "fp16": (17.2, 176.5),
        "fp32": (10.3, 157.0),
        "dense": (11.0, 91.3),
    },
    "gemm_bias_gelu": {"words": (22.3, 175.9), "fp16": (20.4, 294.0), "fp32": (31.2, 216.6)},
}
