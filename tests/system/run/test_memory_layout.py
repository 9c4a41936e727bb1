"""Tests of the memory placement of buffers, and of descriptions of addresses."""

from dataclasses import replace
from itertools import pairwise

import pytest

from spica.base.errors import UserError
from spica.hw.config import CoreConfig
from spica.hw.isa.memory_map import ARGUMENTS
from spica.hw.presets import PRESETS
from spica.sim.machine.memory_layout import (
    ARGUMENTS_BYTES,
    BUFFERS_BASE,
    MemoryLayout,
    Region,
    place_buffers,
)

CORE = PRESETS["core"]


def test_buffers_are_apart_and_on_pages():
    sizes = {"a": 1, "b": 4096, "c": 4097, "d": 0x0FFF_0000, "e": 5}
    placed = place_buffers(sizes, CORE)
    assert [region.nbytes for region in placed.values()] == [*sizes.values()]
    assert placed["a"].address == BUFFERS_BASE
    arguments = Region("arguments", ARGUMENTS, ARGUMENTS_BYTES)
    everything = sorted([*placed.values(), arguments], key=lambda region: region.address)
    for before, behind in pairwise(everything):
        assert behind.address % 4096 == 0
        assert behind.address - before.end >= 4096
    assert placed["e"].address > ARGUMENTS  # the large one left no room in front


def test_buffers_that_do_not_fit_are_refused():
    many = replace(CORE, cores=32, core=CoreConfig(warps=32, threads=32))
    sizes = {"a": 0x5E00_0000}
    assert place_buffers(sizes, CORE)["a"].end < MemoryLayout(CORE, []).stacks.address
    with pytest.raises(UserError, match=r"at most .* MiB together, .* \(a has 1,577,058,304 b"):
        place_buffers(sizes, many)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (0, "a null pointer"),
        (4, "a null pointer plus 4 bytes"),
        (1, "a null pointer plus 1 byte"),
        (0x8000_0010, "byte 16 of the program"),
        (0x9000_0064, "just beyond buffer x, 100 bytes at 0x90000000"),
        (0x9000_0068, "4 bytes beyond the end of buffer x, 100 bytes at 0x90000000"),
        (0x8FFF_FFFC, "4 bytes before buffer x, 100 bytes at 0x90000000"),
        (ARGUMENTS + 8, "byte 8 of the arguments"),
        (0xFEFF_FFFC, "in the stack of core 0, warp 0, lane 0, 8,188 bytes above its lower end"),
        (0xFEFE_E000, "in the stack of core 0, warp 1, lane 0, 0 bytes above its lower end"),
        (0xFEF8_0000, "in the stack of core 0, warp 7, lane 7, 0 bytes above its lower end"),
        (0xFEF7_FFFC, "4 bytes before the stacks, 524,288 bytes at 0xfef80000"),
        (0xFF00_0004, "byte 4 of shared memory"),
        (0xFF00_4000, "byte 0 of the register window"),
        (0x4000_0000, "an unmapped address"),
        (0xB000_0000, "far from all placed regions"),
    ],
)
def test_addresses_in_words(address, words):
    program, x = Region("the program", 0x8000_0000, 512), Region("buffer x", BUFFERS_BASE, 100)
    assert MemoryLayout(CORE, [program, x]).describe(address) == words


def test_stacks_of_several_cores():
    memory_layout = MemoryLayout(PRESETS["virgo"], [])
    assert memory_layout.stacks.nbytes == 4 * 8 * 8 * 8192
    assert memory_layout.describe(memory_layout.stacks.address).startswith(
        "in the stack of core 3, warp 7, lane"
    )
    odd = replace(CORE, core=CoreConfig(warps=3, threads=5))  # numbers of harts have gaps
    assert MemoryLayout(odd, []).stacks.nbytes == 4 * 8 * 8192
