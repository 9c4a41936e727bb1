"""Tests of a warp's scoreboard with products in flight: other instructions do not wait for them."""

import random

import pytest

from spica.hw.config import CoreConfig
from spica.hw.core.issue.warp_scoreboard import UNDER_WAY, WarpScoreboard
from spica.hw.lib.interfaces.execution_unit import REGISTERS
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.engine.testbench import require_no_loop, simulate

CONFIG = CoreConfig(warps=2, threads=8, tensor=SharedFedConfig())
HALF = REGISTERS // 2
FLOATS = (1 << REGISTERS) - (1 << HALF)  # f0 to f31, the registers of a product


class Warp:
    """The instructions in flight of one warp: results of a product, and others."""

    def __init__(self, dut, ctx):
        self.dut, self.ctx = dut, ctx
        self.product: list[int] = []  # registers that the product has not written yet
        self.others = 0

    @property
    def only_products(self) -> bool:
        """Nothing but a product is in flight."""
        return self.others == 0

    async def cycle(self, *, issue=0, product=False, write=None, other=False):
        """Issue `issue` instructions or a product; complete a result of the product or another."""
        dut, set_ = self.dut, self.ctx.set
        set_(dut.events.issued, HALF if product else issue)
        set_(dut.events.claimed, FLOATS if product else 0)
        set_(dut.events.done, (write is not None) | other << 1)
        set_(dut.events.written[0], 0 if write is None else 1 << write)
        await self.ctx.tick()
        if product:
            self.product = list(range(HALF, REGISTERS))
        if write is not None:
            self.product.remove(write)
        self.others += issue - other

    @property
    def settled(self) -> bool:
        return bool(self.ctx.get(self.dut.hazards.settled))


def scoreboard(test):
    dut = require_no_loop(WarpScoreboard(CONFIG))

    async def testbench(ctx):
        await test(Warp(dut, ctx))

    simulate(dut, testbench)


def test_an_instruction_counts_from_the_cycle_after_its_issue():
    async def test(warp):
        await warp.cycle()
        assert warp.settled
        await warp.cycle(issue=1)
        assert not warp.settled, "its issue is not counted yet, but it is in flight"
        await warp.cycle()
        assert not warp.settled
        await warp.cycle(other=True)
        await warp.cycle()
        assert warp.settled

    scoreboard(test)


def test_products_are_settled_while_others_are_not():
    async def test(warp):
        await warp.cycle(product=True)
        await warp.cycle()
        assert warp.settled and not warp.ctx.get(warp.dut.hazards.drained)
        await warp.cycle(issue=1)
        for register in range(HALF, REGISTERS):
            await warp.cycle(write=register)
            assert not warp.settled
        await warp.cycle(other=True)
        await warp.cycle()
        assert warp.settled and warp.ctx.get(warp.dut.hazards.drained)

    scoreboard(test)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.quick(1)
def test_settled_only_without_other_instructions(seed):
    """`settled` rises only while nothing but products is in flight, and one cycle late at most."""
    rng = random.Random(seed)

    async def test(warp):
        seen = {True: 0, False: 0}
        was_alone = False
        for _ in range(1500):
            alone, busy = warp.only_products, bool(warp.product)
            product = not busy and rng.random() < 0.05
            room = warp.others + HALF < UNDER_WAY
            issue = int(not product and room and rng.random() < 0.2)
            write = rng.choice(warp.product) if busy and rng.random() < 0.5 else None
            await warp.cycle(
                issue=issue, product=product, write=write, other=not alone and rng.random() < 0.4
            )
            quiet = not product and not issue
            assert not warp.settled or warp.only_products
            assert warp.settled or not (was_alone and alone and quiet)
            was_alone = warp.only_products
            seen[warp.settled] += 1
        assert min(seen.values()) > 100

    scoreboard(test)
