"""Test of `hw.core.front_end.decode`: reserved encodings are illegal instructions."""

import random

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.front_end.decode import Decode
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.operations import ControlOperation, Port
from spica.hw.isa.reserved.table import RESERVED
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.front_end.decode import decode, is_same

ILLEGAL = (Port.CONTROL, ControlOperation.ILLEGAL)
CONFIGS = {
    "plain": CoreConfig(),
    "tensor": CoreConfig(tensor=RegisterFedConfig()),
    "wide": CoreConfig(tensor=RegisterFedConfig(), threads=32),
    "hgmma": CoreConfig(tensor=SharedFedConfig()),
}


def words_of(row, rng):
    """Return words of a row: with all operands 0, with all ones, and random ones."""
    free = 0xFFFF_FFFF & ~row.mask
    return [row.match | bits & free for bits in (0, free, *(rng.getrandbits(32) for _ in range(4)))]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_reserved_encodings_are_illegal(config):
    dut = require_no_loop(Decode(config))
    rng = random.Random(1)

    async def bench(ctx):
        def operation_of(word):
            ctx.set(dut.word, word)
            return Port(ctx.get(dut.o.port)), ctx.get(dut.o.operation)

        assert operation_of(INSTRUCTIONS["vx_bar"].match) == (Port.CONTROL, ControlOperation.BAR)
        for row in RESERVED.values():
            for word in words_of(row, rng):
                assert operation_of(word) == ILLEGAL, f"{row.name}: {word:#010x}"
                assert is_same(ctx.get(dut.o.as_value()), decode(word, 0, config=config), config)

    simulate(dut, bench, domains=())
