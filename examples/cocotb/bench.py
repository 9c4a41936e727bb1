"""Bench under cocotb: cocotbext-axi plays host and DRAM of a generated cluster.

It reads the files that `spica generate … --commands gemm:MxNxK` wrote, from the folder
`SPICA_GENERATED`, and needs nothing else of Spica.
"""

import json
import logging
import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam
from cocotbext.axi.sparse_memory import SparseMemory

FOLDER, PRESET = Path(os.environ["SPICA_GENERATED"]), os.environ["SPICA_PRESET"]
IDENTITY = 0x53504943
PERIOD_NS, LIMIT_US = 10, 2000


def described(ending):
    """Return a JSON file of the cluster."""
    return json.loads((FOLDER / f"{PRESET}{ending}.json").read_text())


async def start(dut):
    """Start the clock and reset the cluster; return its memory and its host."""
    memory = SparseMemory(1 << 32)
    masters = described("")["config"]["axi"]["masters"]
    for name in ("s_axil", *(f"m_axi{number}" for number in range(masters))):
        logging.getLogger(f"cocotb.{dut._name}.{name}").setLevel(logging.WARNING)
    for number in range(masters):
        AxiRam(AxiBus.from_prefix(dut, f"m_axi{number}"), dut.clk, dut.rst, mem=memory)
    host = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
    Clock(dut.clk, PERIOD_NS, unit="ns").start()
    dut.rst.value = 1
    await ClockCycles(dut.clk, 5)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    return memory, host


async def execute(host, commands):
    """Execute the commands in order; return the values read."""
    values = []
    for command in commands:
        address, data = command["address"], command["data"]
        if command["operation"] == "write":
            await host.write_dword(address, data)
            continue
        while True:
            value = await host.read_dword(address)
            if command["operation"] == "read":
                values.append(value)
                break
            if command["operation"] == "wait_equal" and value & command["mask"] == data:
                break
            if command["operation"] == "wait_reached" and (value - data) & 0x8000_0000 == 0:
                break
    return values


def stored(memory, place, values=None):
    """Write or return a matrix of the memory."""
    shape = place["rows"], place["pitch"]
    size, at = 2 * shape[0] * shape[1], place["address"]
    if values is not None:
        memory[at : at + size] = values.astype(np.float16).tobytes()
    return np.frombuffer(bytes(memory[at : at + size]), np.float16).reshape(shape)


@cocotb.test()
async def cluster_identifies_itself(dut):
    """Check that the first register of the slave is the mark of a cluster."""
    _, host = await start(dut)
    address = described("")["registers"]["control"]["identity"]["address"]
    assert await host.read_dword(address) == IDENTITY


@cocotb.test()
async def product_is_that_of_numpy(dut):
    """Check C = A B of small integers, which every format and order of addition has exactly."""
    memory, host = await start(dut)
    task = described("_gemm")
    places, rng = task["matrices"], np.random.default_rng(1)
    a, b = (
        stored(
            memory, places[name], rng.integers(-4, 5, (places[name]["rows"], places[name]["pitch"]))
        )
        for name in "ab"
    )
    first, last = await with_timeout(execute(host, task["commands"]), LIMIT_US, "us")
    c = stored(memory, places["c"])
    wrong = np.argwhere(c != a.astype(np.float64) @ b)
    assert not len(wrong), f"{len(wrong)} of {c.size} elements differ, first at {tuple(wrong[0])}"
    dut._log.info("%d elements of C are those of NumPy, %d cycles", c.size, last - first)
