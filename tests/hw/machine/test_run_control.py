"""Tests of the core registers: start, end and flush of a run, first fault, console."""

from spica.hw.config import RunControlConfig
from spica.hw.core.control.faults import FaultCause
from spica.hw.isa.memory_map import ARGUMENTS, ENTRY, core_registers
from spica.hw.lib.interfaces.memory_fault import MemoryFault
from spica.hw.machine.console import CONSOLE_BYTES
from spica.hw.machine.run_control import RunControl
from spica.sim.engine.testbench import simulate
from support.cluster.two_cores import TWO


async def access(
    ctx, port, name: str, value: int | None = None, clusters: int = 1
) -> tuple[int, int]:
    """Read or write a register of the cores; return data and whether it was refused."""
    ctx.set(port.request.payload.address, core_registers(2, clusters)[name].offset)
    ctx.set(port.request.payload.write, value is not None)
    ctx.set(port.request.payload.data, value or 0)
    ctx.set(port.request.valid, 1)
    await ctx.tick().until(port.request.ready)
    ctx.set(port.request.valid, 0)
    assert ctx.get(port.response.valid)
    return ctx.get(port.response.payload.data), ctx.get(port.response.payload.error)


def control_bench(body):
    """Run a testbench on the registers of two cores."""
    dut = RunControl(RunControlConfig.of(TWO))

    async def bench(ctx):
        await body(ctx, dut)

    simulate(dut, bench)


def test_cores_are_started_once():
    async def body(ctx, dut):
        bus = dut.registers
        assert await access(ctx, bus, "start") == (0, 0)
        assert (await access(ctx, bus, "start", 2))[1] == 1
        assert not ctx.get(dut.start)
        assert (await access(ctx, bus, "start", 1))[1] == 0
        assert ctx.get(dut.start)
        assert (await access(ctx, bus, "start", 1))[1] == 1
        assert await access(ctx, bus, "start") == (1, 0)
        ctx.set(dut.cores[1].busy, 1)
        await ctx.tick()
        assert await access(ctx, bus, "busy") == (0b10, 0)
        assert (await access(ctx, bus, "state"))[0] & 1 and ctx.get(dut.runs)
        ctx.set(dut.cores[1].exit_code, 99)
        assert await access(ctx, bus, "exit_code_1") == (99, 0)
        assert (await access(ctx, bus, "exit_code_1", 1))[1] == 1

    control_bench(body)


def test_each_cluster_has_an_entry_arguments_and_a_start():
    dut = RunControl(RunControlConfig.of(TWO, clusters=3))

    async def bench(ctx):
        async def on(name: str, value: int | None = None) -> tuple[int, int]:
            return await access(ctx, dut.registers, name, value, clusters=3)

        for cluster in range(3):
            assert await on(f"entry_{cluster}") == (ENTRY, 0)
            assert await on(f"arguments_{cluster}") == (ARGUMENTS, 0)
            assert (await on(f"entry_{cluster}", 0x8000_1000 + 64 * cluster))[1] == 0
        assert (await on("arguments_2", 0x9000_0000))[1] == 0
        assert await on("entry_1") == (0x8000_1040, 0)
        assert [ctx.get(dut.entry[cluster]) for cluster in range(3)] == [
            0x8000_1000 + 64 * cluster for cluster in range(3)
        ]
        assert [ctx.get(word) for word in dut.arguments] == [ARGUMENTS, ARGUMENTS, 0x9000_0000]
        assert (await on("start", 0b1001))[1] == 1 and ctx.get(dut.start) == 0
        assert (await on("start", 0))[1] == 1
        assert (await on("start", 0b101))[1] == 0 and ctx.get(dut.start) == 0b101
        # From the start on nothing changes.
        assert (await on("start", 0b010))[1] == 1
        assert (await on("entry_1", 0x8000_2000))[1] == 1
        assert await on("entry_1") == (0x8000_1040, 0) and await on("start") == (0b101, 0)
        ctx.set(dut.cores[5].exit_code, 7)
        assert await on("exit_code_5") == (7, 0)

    simulate(dut, bench)


def test_a_run_ends_when_all_is_in_dram_and_the_host_may_request_that():
    async def body(ctx, dut):
        bus = dut.registers
        assert (await access(ctx, bus, "flush", 2))[1] == 1
        assert (await access(ctx, bus, "flush", 1))[1] == 0
        await ctx.tick()
        assert ctx.get(dut.slices.flush)
        assert await access(ctx, bus, "flush") == (1, 0)
        ctx.set(dut.slices.flushed, 0b11)
        await ctx.tick()
        assert not ctx.get(dut.slices.flush)
        ctx.set(dut.slices.flushed, 0)
        assert await access(ctx, bus, "flush") == (0, 0)
        assert not ctx.get(dut.runs)  # nothing was started

        await access(ctx, bus, "start", 1)
        ctx.set(dut.cores[0].busy, 1)
        ctx.set(dut.units_busy, 1)
        await ctx.tick().repeat(4)
        ctx.set(dut.cores[0].busy, 0)
        await ctx.tick().repeat(9)
        assert ctx.get(dut.runs) and not ctx.get(dut.slices.flush)
        ctx.set(dut.units_busy, 0)
        await ctx.tick().repeat(3)
        assert ctx.get(dut.slices.flush)
        ctx.set(dut.slices.flushed, 0b01)
        await ctx.tick().repeat(3)
        assert ctx.get(dut.slices.flush) and (await access(ctx, bus, "state"))[0] == 1
        ctx.set(dut.slices.flushed, 0b11)
        await ctx.tick()
        assert (await access(ctx, bus, "state"))[0] == 0
        ctx.set(dut.refused, 1)
        await ctx.tick()
        ctx.set(dut.refused, 0)
        await ctx.tick()
        assert (await access(ctx, bus, "state"))[0] == 1 << 5 and ctx.get(dut.error)

    control_bench(body)


def test_the_first_fault_is_kept():
    async def body(ctx, dut):
        for core in dut.cores:
            ctx.set(core.busy, 1)
        for core, pc in ((1, 0x100), (0, 0x200)):
            fault = dut.cores[core].memory_fault
            ctx.set(fault.valid, 1)
            ctx.set(fault.payload.kind, MemoryFault.REFUSED)
            ctx.set(fault.payload.pc, pc)
            ctx.set(fault.payload.warp, 1)
            ctx.set(fault.payload.mask, 2)
            ctx.set(fault.payload.address, 0x1234)
            await ctx.tick()
            ctx.set(fault.valid, 0)
        ctx.set(dut.cores[0].fault.valid, 1)
        await ctx.tick()
        names = ("fault", "fault_pc", "fault_address", "fault_lanes", "state")
        values = [(await access(ctx, dut.registers, name))[0] for name in names]
        kind = MemoryFault.REFUSED.value
        assert values == [1 << 24 | 1 << 16 | 1 << 8 | kind, 0x100, 0x1234, 2, 0b10]
        assert ctx.get(dut.error) and not ctx.get(dut.runs)

    control_bench(body)


def test_of_faults_of_one_cycle_the_lowest_core_is_first():
    async def body(ctx, dut):
        for core in (0, 1):
            ctx.set(dut.cores[core].fault.valid, 1)
            ctx.set(dut.cores[core].fault.payload.cause, FaultCause.STACK_OVERFLOW)
            ctx.set(dut.cores[core].fault.payload.pc, 8 * core)
        await ctx.tick()
        value, _ = await access(ctx, dut.registers, "fault")
        assert value == FaultCause.STACK_OVERFLOW.value

    control_bench(body)


def test_the_console_keeps_what_fits_and_states_what_was_lost():
    async def body(ctx, dut):
        sent = [bytearray(), bytearray()]
        for n in range(CONSOLE_BYTES // 2 + 4):
            for core in (0, 1):
                ctx.set(dut.cores[core].console.payload, (n * 2 + core) & 0xFF)
                ctx.set(dut.cores[core].console.valid, 1)
                await ctx.tick().until(dut.cores[core].console.ready)
                ctx.set(dut.cores[core].console.valid, 0)
                sent[core].append((n * 2 + core) & 0xFF)
        await ctx.tick().repeat(4)
        assert (await access(ctx, dut.registers, "state"))[0] == 0b1100
        for n in range(CONSOLE_BYTES):
            value, _ = await access(ctx, dut.registers, "console")
            assert value == 0x100 | n & 0xFF
            await ctx.tick().repeat(2)

    control_bench(body)
