"""Tests of the pages of traces: a timeline of the cluster, or instructions of cores alone."""

import pytest

from spica.hw.config import PRESETS
from spica.kernels.kernel import find_kernel
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload


@pytest.mark.parametrize(
    ("memory", "title"),
    [
        (DramConfig(), "<title>Spica: vecadd, n 64, on tiny"),
        (CoreMemoryConfig(), "<title>Spica: 4 warps of 4 threads"),
    ],
    ids=["cluster", "cores alone"],
)
@pytest.mark.full
def test_a_page_shows_what_the_memory_selects(tmp_path, memory, title):
    page = tmp_path / "run.html"
    options = SimtOptions(engine="verilator", memory=memory, trace=page)
    workload = KernelWorkload(find_kernel("vecadd"), {"n": 64})
    assert run_workload(workload, "tiny", PRESETS["tiny"], options)["check"]["verdict"] == "pass"
    text = page.read_text()
    assert title in text
