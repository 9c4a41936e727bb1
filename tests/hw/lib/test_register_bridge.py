"""Tests of address maps of `hw.lib.register_bridge`; `test_host_control` tests its accesses."""

import random
import re

import pytest

from spica.hw.lib.register_bridge import RegisterBlock, RegisterBridgeConfig
from spica.hw.machine.host_control import ControlConfig, control_map
from spica.hw.presets import PRESETS


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([(0, 256), (128, 256)], "blocks must not overlap: b1 must begin at 0x100 or later"),
        ([(0xFF00, 512)], "blocks must end by 0x10000, the end of 16 address bits, not at 0x10100"),
    ],
)
def test_bad_maps_are_refused(blocks, message):
    blocks = tuple(
        RegisterBlock(name=f"b{n}", base=base, size=size, address_width=8)
        for n, (base, size) in enumerate(blocks)
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        RegisterBridgeConfig(address_width=16, blocks=blocks)


def test_bad_blocks_are_refused():
    with pytest.raises(ValueError, match="base must be a multiple of 4, not 0x2"):
        RegisterBlock(name="unit", base=2, size=4, address_width=8)
    with pytest.raises(ValueError, match="size must be a multiple of 4, not 0x6"):
        RegisterBlock(name="unit", base=4, size=6, address_width=8)


def test_map_of_the_cluster():
    names = [block.name for block in control_map(ControlConfig.of(PRESETS["matrix"])).blocks]
    assert names == ["control", "dma", "matrix", "counters"]


@pytest.mark.parametrize("seed", range(20))
def test_patterns_are_exactly_the_block(seed):
    rng = random.Random(seed)
    base, end = sorted(rng.sample(range(0, 1028, 4), 2))
    block = RegisterBlock(name="unit", base=base, size=end - base, address_width=8)
    patterns = [re.compile(text.replace("-", ".")) for text in block.patterns(10)]
    for address in range(1024):
        matching = [pattern for pattern in patterns if pattern.fullmatch(f"{address:010b}")]
        assert len(matching) == (base <= address < end)
