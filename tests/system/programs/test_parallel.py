"""Tests of parallel blocks, which all threads run inside a function."""

import numpy as np
import pytest

from spica.hw.config import ClusterConfig, CoreConfig
from spica.kernels.kernel import Buffer, Kernel, Problem
from support.runs import passed, run_kernel

SOURCE = """
#include <spica.h>
#include <spica_parallel.h>
typedef struct { uint32_t factor; uint32_t *visits, *results; } Arguments;
#define ARGUMENTS ((const Arguments *)spica_arguments())
int main(void) {
    const uint32_t factor = ARGUMENTS->factor;
    const float ratio = 1.5f * (float)factor;
    SPICA_PARALLEL {
        ARGUMENTS->visits[spica_thread()] += 1;
    } SPICA_END_PARALLEL
    for (uint32_t round = 1; round < factor; round++) {
        SPICA_PARALLEL {
            ARGUMENTS->visits[spica_thread()] += 1;
        } SPICA_END_PARALLEL
    }
    ARGUMENTS->results[vx_core_id()] = 10 * factor + (uint32_t)ratio;
    return 0;
}
"""


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("optimize", [1, 2, 3])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 8, 8), (3, 5, 6), (2, 1, 32), (2, 32, 1)])
@pytest.mark.quick(3)
def test_every_thread_runs_each_block_once(shape, optimize, schedule, tmp_path):
    cores, warps, threads = shape
    source = tmp_path / "program.c"
    source.write_text(SOURCE)
    visits = np.zeros(cores * warps * threads, np.uint32)
    results = np.zeros(cores, np.uint32)

    def pose(rng):
        buffers = {
            "visits": Buffer(data=visits, expected=visits + 3),
            "results": Buffer(data=results, expected=results + 34),
        }
        return Problem(buffers=buffers, arguments=(3, "visits", "results"), operations=0)

    config = ClusterConfig(cores=cores, core=CoreConfig(warps=warps, threads=threads), units=())
    kernel = Kernel(name="blocks", dimensions=(), pose=pose, files=(source,))
    passed(run_kernel(kernel, (), config, optimize=optimize, schedule=schedule))
