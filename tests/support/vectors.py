"""Vectors through a unit on Amaranth's simulator, and comparison of arrays of results."""

from collections.abc import Mapping, Sequence

import numpy as np
from amaranth.hdl import Cat, Value

from spica.sim.engine.testbench import require_no_loop, simulate
from support.packing import joined

__all__ = ["evaluate", "require_equal"]

#: Wrong vectors in a message.
SHOWN = 5


def evaluate(
    dut, inputs: Mapping[str, Sequence], outputs: Sequence[str] = ("o",), latency: int | None = None
) -> dict[str, np.ndarray]:
    """Return the outputs of a unit for one vector per cycle, or of a combinational one.

    Parameters
    ----------
    dut : Component
        Unit.
    inputs : mapping of str to sequence
        Number of each vector, or array of equal parts, by port or member of a port.
    outputs : sequence of str
        Ports.
    latency : int or None
        Cycles from inputs to outputs; None for a combinational component.

    """
    require_no_loop(dut)
    members = {path[-1]: Value.cast(value) for path, _, value in dut.signature.flatten(dut)}
    ports, shown = ([members[name] for name in names] for names in (inputs, outputs))
    words, results = [], []
    for row in zip(*inputs.values(), strict=True):
        word = shift = 0
        for port, value in zip(ports, row, strict=True):
            number = joined(np.ravel(value).tolist(), len(port) // np.size(value))
            word |= (number & (1 << len(port)) - 1) << shift
            shift += len(port)
        words.append(word)

    async def testbench(ctx):
        for word in [*words, *[0] * (latency or 0)]:
            ctx.set(Cat(ports), word)
            result = ctx.get(Cat(shown))
            if latency is not None:
                _, _, result = await ctx.tick().sample(Cat(shown))
            results.append(result)

    simulate(dut, testbench, domains=() if latency is None else ("sync",))
    by_port, low = {}, 0
    for name, port in zip(outputs, shown, strict=True):
        values = [sample >> low & (1 << len(port)) - 1 for sample in results[latency or 0 :]]
        by_port[name] = np.array(values, np.uint32 if len(port) <= 32 else object)
        low += len(port)
    return by_port


def hexadecimal(value) -> str:
    """Return an integer, or the integers of an array, in hexadecimal."""
    value = np.asarray(value)
    return f"[{', '.join(map(hexadecimal, value))}]" if value.ndim else f"{int(value):#x}"


def require_equal(results, expected, **inputs) -> None:
    """Fail with the first vectors that have a wrong result, and their inputs."""
    wrong = np.nonzero(np.asarray(results) != np.asarray(expected))[0]
    shown = [
        ", ".join(f"{name} {hexadecimal(values[k])}" for name, values in inputs.items())
        + f": found {hexadecimal(results[k])}, expected {hexadecimal(expected[k])}"
        for k in wrong[:SHOWN]
    ]
    assert not shown, f"{len(wrong)} of {len(expected)} wrong: " + "; ".join(shown)
