"""Tests of control registers: contents, floating-point flags, counting."""

import random

import pytest
from amaranth import ResetInserter, Signal

from spica.hw.config import CoreBlockConfig
from spica.hw.core import csr_file, csr_signatures
from spica.hw.core.clock_control import SLEEP_WIDTH
from spica.hw.core.csr_file import ISA, CsrFile
from spica.hw.isa.csr import BLOCK_BIT, COUNTER_BLOCKS, COUNTER_NUMBERS, CSRS
from spica.hw.isa.memory_map import SHARED_BASE
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.iss.program_bench import small_config
from support.core.control_model import COUNTER, ControlModel
from support.core.small_core import small_core

NAMES = ("fflags", "frm", "fcsr", "mscratch", "mepc")
FFLAGS, FRM, FCSR, MSCRATCH, MEPC = (CSRS[name].number for name in NAMES)


def make(**config):
    return require_no_loop(CsrFile(small_core(**config)), ports=[])


async def read(ctx, dut, warp, number):
    """Return the value of a warp's register, and its flags."""
    ctx.set(dut.access.lookup.valid, 1)
    ctx.set(dut.access.lookup.payload.warp, warp)
    ctx.set(dut.access.lookup.payload.scratch, number == MSCRATCH)
    await ctx.tick()
    ctx.set(dut.access.lookup.valid, 0)
    ctx.set(dut.access.lookup.payload.warp, 0)
    ctx.set(dut.access.lookup.payload.scratch, 0)
    ctx.set(dut.access.number, number)
    ctx.set(dut.access.warp, warp)
    ctx.set(dut.access.warps, 1 << warp)
    answer = ctx.get(dut.access.answer)
    return (
        answer.value,
        answer.exists,
        answer.writable,
        answer.per_thread,
        ctx.get(dut.access.is_command),
    )


async def write(ctx, dut, warp, number, value):
    await read(ctx, dut, warp, number)
    ctx.set(dut.access.write, 1)
    ctx.set(dut.access.write_value, value)
    await ctx.tick()
    ctx.set(dut.access.write, 0)


def test_numbers_of_a_core_in_a_machine_of_several_clusters():
    config = CoreBlockConfig.of(small_config(warps=2, threads=4, cores=2), clusters=3)
    dut = require_no_loop(CsrFile(config), ports=[])
    expected = {
        "core_id": 1,
        "num_cores": 2,
        "cluster_id": 2,
        "num_clusters": 3,
        "arguments": 0x8765_4320,
        "mhartid": 5 << 3 | 1 << 2,
    }

    async def bench(ctx):
        ctx.set(dut.core, 1)
        for name, value in (("cluster", 2), ("core", 5), ("arguments", 0x8765_4320)):
            ctx.set(getattr(dut.launch, name), value)
        for name, value in expected.items():
            assert (await read(ctx, dut, 1, CSRS[name].number))[0] == value, name

    simulate(dut, bench)


@pytest.mark.parametrize(("warps", "threads", "cores", "core"), [(1, 1, 1, 0), (3, 5, 6, 5)])
def test_every_number(warps, threads, cores, core):
    dut = make(warps=warps, threads=threads, cores=cores)
    model = ControlModel(small_config(warps=warps, threads=threads, cores=cores), core)
    mask, warp = (1 << threads) - 1, warps - 1
    for other in range(warps):
        model.iss.set_warp(core, other, mask=mask)

    async def bench(ctx):
        ctx.set(dut.core, core)
        ctx.set(dut.access.mask, mask)
        ctx.set(dut.active, model.active)
        ctx.set(dut.counters.value, COUNTER)
        for number in range(1 << 12):
            known = [csr for csr in CSRS.values() if csr.number == number]
            exists = known or any(number in numbers for numbers in COUNTER_NUMBERS)
            if not exists and number % 16:
                continue
            expected = model.read(warp, number)
            value, is_found, writable, per_thread, is_command = await read(ctx, dut, warp, number)
            assert (expected is not None) == bool(exists) == is_found, hex(number)
            assert value == (expected or 0), hex(number)
            assert writable == bool(known and known[0].access != "read")
            assert per_thread == bool(known and known[0].name in ("thread_id", "mhartid"))
            assert is_command == (number == 0xACC)
            if exists and not known:
                assert ctx.get(dut.counters.number) == number % 32 + 32 * (number >> BLOCK_BIT & 1)

    simulate(dut, bench)


def test_counters_of_both_blocks(monkeypatch):
    """The second block exists as soon as it has a counter."""
    monkeypatch.setattr(csr_file, "USED_BLOCKS", COUNTER_BLOCKS)
    monkeypatch.setattr(csr_signatures, "PLACE_WIDTH", 6)
    dut = make(warps=1, threads=1, cores=1)

    async def bench(ctx):
        ctx.set(dut.counters.value, COUNTER)
        for place in (3, 29, 31, 32, 40, 63):
            block = COUNTER_BLOCKS[place // 32]
            for half, numbers in enumerate(block.halves):
                value, exists, *_ = await read(ctx, dut, 0, numbers[place % 32])
                assert (exists, value) == (1, COUNTER >> 32 * half & 0xFFFF_FFFF)
                assert ctx.get(dut.counters.number) == place

    simulate(dut, bench)


def test_numbers_that_matter():
    """Literal numbers, so that a common error of model and RTL is detected."""
    dut = make(warps=4, threads=8, cores=4)
    expected = {
        0x301: ISA,
        0xCC1: 2,
        0xCC2: 3,
        0xF14: 3 << 5 | 2 << 3,
        0xFC0: 8,
        0xFC1: 4,
        0xFC2: 4,
        0xFC3: SHARED_BASE,
        0xCC3: 0b0101,
        0xCC4: 0b1001_0001,
    }

    async def bench(ctx):
        ctx.set(dut.core, 3)
        ctx.set(dut.access.mask, 0b1001_0001)
        ctx.set(dut.active, 0b0101)
        for number, value in expected.items():
            assert (await read(ctx, dut, 2, number))[:2] == (value, 1)

    simulate(dut, bench)


@pytest.mark.parametrize("warps", [1, 4])
def test_registers_of_warps(warps):
    """Random writes and reads, with flags from both buses."""
    dut = make(warps=warps, writeback_buses=2)
    rng = random.Random(warps)
    model = ControlModel(small_config(warps=warps))
    for other in range(warps):
        model.iss.set_warp(0, other, mask=1)

    async def raise_flags(ctx):
        accrued = [(rng.random() < 0.7, rng.randrange(warps), rng.getrandbits(5)) for _ in range(2)]
        if rng.random() < 0.3:
            accrued[1] = (*accrued[0][:2], accrued[1][2])
        names = ("valid", "warp", "flags")
        ctx.set(dut.floats.flags, [dict(zip(names, bus, strict=True)) for bus in accrued])
        await ctx.tick()
        ctx.set(dut.floats.flags, [{"valid": 0}, {"valid": 0}])
        for valid, warp, flags in accrued:
            if valid:
                model.iss.set_warp(0, warp, fflags=model.iss.warp(0, warp).fflags | flags)

    async def bench(ctx):
        for _ in range(300):
            number = rng.choice((FFLAGS, FRM, FCSR, MSCRATCH, MEPC, 0x300))
            warp = rng.randrange(warps)
            assert (await read(ctx, dut, warp, number))[0] == model.read(warp, number)
            if rng.random() < 0.3:
                value = rng.getrandbits(32)
                await write(ctx, dut, warp, number, value)
                model.write(warp, number, value)
            if rng.random() < 0.3:
                await raise_flags(ctx)
            assert [*ctx.get(dut.floats.frm)] == [fcsr >> 5 for fcsr in model.fcsr]

    simulate(dut, bench)


def test_a_reset_clears_what_memory_keeps():
    dut = make(warps=2)
    reset = Signal()

    async def bench(ctx):
        for warp in range(2):
            await write(ctx, dut, warp, MSCRATCH, 0x1234 + warp)
        ctx.set(reset, 1)
        await ctx.tick()
        ctx.set(reset, 0)
        assert (await read(ctx, dut, 0, MSCRATCH))[0] == 0
        await write(ctx, dut, 0, MSCRATCH, 7)
        assert (await read(ctx, dut, 1, MSCRATCH))[0] == 0
        assert (await read(ctx, dut, 0, MSCRATCH))[0] == 7

    simulate(ResetInserter(reset)(dut), bench)


def test_cycles_and_instructions_are_counted_in_64_bits():
    """Both halves of the count up to the cycle before the last."""
    dut = make()
    rng = random.Random(2)

    async def bench(ctx):
        ctx.set(dut.cycles, 0xFFFF_FFF0)
        ctx.set(dut.instructions, 0xFFFF_FFE0)
        sums = [(0xFFFF_FFF0, 0xFFFF_FFE0)]
        for _ in range(60):
            busy, retired = rng.getrandbits(1), rng.randrange(8)
            slept = rng.choice((0, 1, (1 << SLEEP_WIDTH) - 1))
            ctx.set(dut.counters.busy, busy)
            ctx.set(dut.counters.slept, slept)
            ctx.set(dut.counters.retired, retired)
            await ctx.tick()
            sums.append((sums[-1][0] + busy + slept, sums[-1][1] + retired))
            for counted, low, high in zip(sums[-2], (0xB00, 0xB02), (0xB80, 0xB82), strict=True):
                ctx.set(dut.access.number, low)
                value = ctx.get(dut.access.answer.value)
                ctx.set(dut.access.number, high)
                assert value | ctx.get(dut.access.answer.value) << 32 == counted
        assert min(sums[-1]) > 1 << 32

    simulate(dut, bench)
