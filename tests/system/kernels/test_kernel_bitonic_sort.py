"""Tests of the bitonic sort for all kinds of sizes, on machines with little shared memory."""

import dataclasses

import numpy as np
import pytest

from spica.hw.config import CoreConfig, SharedMemoryConfig
from spica.hw.presets import PRESETS
from support.runs import passed, run_kernel

#: Cores, warps, threads, bytes of shared memory: chunks of 8 to 32 keys.
MACHINES = [(1, 2, 2, 256), (1, 1, 1, 128), (2, 2, 4, 512), (1, 1, 3, 256)]
#: Ends within each eighth of blocks of 1024, 256 and 64 keys.
SIZES = [*range(1025, 2048, 72), 1, 8, 9, 33, 64, 71, 79, 90, 97, 105, 113, 127]


@pytest.mark.parametrize("shape", MACHINES, ids=str)
@pytest.mark.full
def test_any_number_of_keys_is_sorted(shape):
    cores, warps, threads, size = shape
    config = dataclasses.replace(
        PRESETS["core"],
        cores=cores,
        core=CoreConfig(warps=warps, threads=threads),
        shared=SharedMemoryConfig(size=size, banks=1),
    )
    offsets = np.random.default_rng(1).integers(0, 8, len(SIZES))
    for n in (np.array(SIZES) + offsets).tolist():
        passed(run_kernel("bitonic_sort", (n,), config, schedule="random", seed=n))
