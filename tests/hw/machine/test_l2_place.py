"""Tests of `hw.machine.l2_place`: numbers of the sources of the L2."""

from dataclasses import replace

import pytest

from spica.hw.cluster.memory_masters import cluster_mux
from spica.hw.machine.l2_place import machine_l2
from spica.hw.presets import PRESETS

TWO = replace(PRESETS["tiny"], cores=2, units=())


@pytest.mark.parametrize(
    ("sources", "with_dma", "without_dma"),
    [((0,), (0,), ()), ((0, 2), (0, 2), (1,)), ((1,), (1,), (0,)), ((), (), ())],
)
def test_sources_of_the_config_are_the_same_without_a_dma(sources, with_dma, without_dma):
    config = replace(TWO, l2=replace(TWO.l2, no_allocate_sources=sources))
    assert machine_l2(config).l2.no_allocate_sources == with_dma
    assert machine_l2(replace(config, dma=None)).l2.no_allocate_sources == without_dma


def test_cores_alone_share_the_multiplexer_without_a_dma():
    width, *cores = cluster_mux(TWO).id_widths
    assert width == TWO.axi.id_width
    widest = replace(TWO, axi=replace(TWO.axi, id_width=16))
    assert cluster_mux(widest) == cluster_mux(TWO), "the L2 has a table of all ids"
    assert cluster_mux(replace(TWO, dma=None)).id_widths == tuple(cores)
