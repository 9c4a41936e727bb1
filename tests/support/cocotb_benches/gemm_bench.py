"""Bench under cocotb: cocotbext-axi drives an emitted cluster through a product and checks it."""

import os
import random
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam
from cocotbext.axi.sparse_memory import SparseMemory

WRITE, WAIT_EQUAL, WAIT_REACHED, READ = range(4)
#: Bits of the interrupt registers.
DONE, ERROR = 1, 2
PERIOD_NS = 10
LIMIT_US = 400


def pauses(seed, share):
    """Yield at random whether a channel pauses."""
    rng = random.Random(seed)
    while True:
        yield rng.random() < share


def stall(channels, seed, share):
    """Let every channel pause at random, independently."""
    for index, channel in enumerate(channels):
        channel.set_pause_generator(pauses(seed * 100 + index, share))


def attach(dut, masters, seed, share):
    """Connect one memory to all AXI masters, and a master to the control port."""
    memory = SparseMemory(1 << 32)
    for number in range(masters):
        bus = AxiBus.from_prefix(dut, f"m_axi{number}")
        ram = AxiRam(bus, dut.clk, dut.rst, mem=memory)
        write, read = ram.write_if, ram.read_if
        channels = (write.aw_channel, write.w_channel, write.b_channel)
        stall((*channels, read.ar_channel, read.r_channel), seed + number, share)
    host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    write, read = host.write_if, host.read_if
    channels = (write.aw_channel, write.w_channel, write.b_channel)
    stall((*channels, read.ar_channel, read.r_channel), seed + masters, share)
    return memory, host


async def execute(host, commands):
    """Run a command list over AXI4-Lite."""
    for operation, address, data, mask in commands.tolist():
        if operation == WRITE:
            await host.write_dword(address, data)
            continue
        while True:
            value = await host.read_dword(address)
            if operation == READ:
                break
            if operation == WAIT_EQUAL and value & mask == data:
                break
            if operation == WAIT_REACHED and (value - data) & 0x8000_0000 == 0:
                break


async def product_with_interrupts(dut, host, task):
    """Run the product; check the interrupts of its end and of an illegal command."""
    enable, pending, instruction = task["interrupt"].tolist()
    assert not dut.irq.value
    await host.write_dword(enable, DONE | ERROR)
    await execute(host, task["commands"])
    if not dut.irq.value:
        await RisingEdge(dut.irq)
    assert await host.read_dword(pending) == DONE
    await host.write_dword(pending, DONE)
    await ClockCycles(dut.clk, 2)
    assert not dut.irq.value
    await host.write_dword(instruction, 0)
    await RisingEdge(dut.irq)
    assert await host.read_dword(pending) & ERROR


@cocotb.test()
async def product(dut):
    task = np.load(Path(os.environ["SPICA_TASK"]))
    memory, host = attach(dut, int(task["masters"]), int(task["seed"]), float(task["pause_share"]))
    for address, name in zip(task["addresses"].tolist(), ("a", "b", "c"), strict=True):
        memory[address : address + len(task[name])] = task[name].tobytes()
    Clock(dut.clk, PERIOD_NS, unit="ns").start()
    dut.rst.value = 1
    await ClockCycles(dut.clk, 5)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    await with_timeout(product_with_interrupts(dut, host, task), LIMIT_US, "us")
    expected = task["expected"].tobytes()
    base = int(task["addresses"][2])
    stored = bytes(memory[base : base + len(expected)])
    wrong = [at for at in range(len(expected)) if stored[at] != expected[at]]
    assert not wrong, f"{len(wrong)} of {len(expected)} bytes differ, first at {wrong[0]}"
