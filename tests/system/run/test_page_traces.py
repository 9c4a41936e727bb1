"""Tests of the pages of traces: a timeline of the cluster, or instructions of cores alone."""

import pytest

from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.dram import DramConfig
from support.runs import passed, run_kernel


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
    passed(run_kernel("vecadd", (64,), engine="verilator", memory=memory, trace=page))
    text = page.read_text()
    assert title in text
