"""Tests of cluster flushes: one at the end of a run, and one per request of the host."""

import random
from dataclasses import dataclass

import pytest
from amaranth import Module, ResetInserter, Signal

from spica.hw.machine.flush_control import FlushControl
from spica.sim.engine.testbench import require_no_loop, simulate

SLICES = 2


@dataclass
class Model:
    """Model of the block, cycle by cycle."""

    begun: bool = False
    ended: bool = False
    pending: bool = False
    flushing: str = ""  # reasons of a flush: some of "run" and "host"

    @property
    def outputs(self) -> tuple[bool, bool, bool]:
        """Return `flush`, `requested` and `runs`."""
        runs = self.begun and not self.ended
        return bool(self.flushing), self.pending or "host" in self.flushing, runs

    def step(self, start, busy, units_busy, faulty, request, flushed):
        runs = self.begun and not self.ended
        self.begun |= start and busy
        if self.flushing:
            if flushed == (1 << SLICES) - 1:
                self.ended |= "run" in self.flushing
                self.flushing = ""
        else:
            if runs and not (busy or units_busy or faulty):
                self.flushing += "run"
            if self.pending:
                self.flushing += "host"
                self.pending = False
        self.pending |= request


def test_it_converts():
    require_no_loop(FlushControl, SLICES)


@pytest.mark.parametrize("seed", range(4))
def test_it_does_what_its_model_does(seed):
    """Slices flush with random delays and stay flushed until released; runs last some cycles."""
    rng, ends, requests = random.Random(seed), 0, 0

    async def bench(ctx):
        nonlocal ends, requests
        for run in range(12):
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
            model, flushed, faulty = Model(), 0, False
            cores_end, units_end = rng.randrange(40), rng.randrange(60)
            for cycle in range(120):
                flush = ctx.get(dut.slices.flush)
                flushed = flushed | rng.getrandbits(SLICES) & rng.getrandbits(SLICES)
                flushed *= flush
                faulty |= run % 3 == 2 and rng.random() < 0.02
                start = cycle > 4
                given = {
                    "start": start,
                    "busy": start and cycle < cores_end,
                    "units_busy": cycle < units_end,
                    "faulty": faulty,
                    "request": rng.random() < 0.03,
                }
                for name, value in given.items():
                    ctx.set(getattr(dut.progress, name), value)
                ctx.set(dut.slices.flushed, flushed)
                ports = (dut.slices.flush, dut.progress.requested, dut.progress.runs)
                outputs = tuple(bool(ctx.get(port)) for port in ports)
                assert outputs == model.outputs, (run, cycle)
                ends += model.flushing == "run"
                requests += "host" in model.flushing
                model.step(**given, flushed=flushed)
                await ctx.tick()
            assert faulty or model.outputs[2] == 0

    dut, reset, top = FlushControl(SLICES), Signal(), Module()
    top.submodules.dut = ResetInserter(reset)(dut)
    simulate(top, bench)
    assert ends and requests
