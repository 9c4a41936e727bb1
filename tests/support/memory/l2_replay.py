"""Replay of a run of an L2 slice on Verilator: its inputs of each cycle, its outputs compared."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from spica.hw.memory.l2.l2_slice import L2Slice
from spica.sim.engine.block_bench import BlockBench
from support.memory.l2_atomic_bench import L2AtomicBench

__all__ = ["RecordedBench", "replay"]


class RecordedBench(L2AtomicBench):
    """Bench that records inputs and outputs of the slice by port, cycle by cycle."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.inputs_of: list[dict[str, int]] = []
        self.outputs_of: list[dict[str, int]] = []

    async def step(self, ctx, offers) -> bool:
        driven = {f"i_{name}": value for name, value in self.near.driven.items()}
        driven |= {f"o_{name}": value for name, value in self.dram.wires.driven.items()}
        self.inputs_of.append(driven | {"flush": ctx.get(self.dut.flush)})
        return await super().step(ctx, offers)

    def record(self, near: list[int], dram: list[int]):
        outputs = {f"i_{name}": value for name, value in zip(self.near.names, near, strict=True)}
        names = self.dram.wires.names
        self.outputs_of.append(
            outputs | {f"o_{name}": value for name, value in zip(names, dram, strict=True)}
        )


def words_of(values: list[int], width: int) -> np.ndarray:
    """Return the values of a port for each cycle, above 64 bits as words."""
    if width <= 64:
        return np.array(values, np.uint64)
    words = -(-width // 32)
    raw = b"".join(value.to_bytes(4 * words, "little") for value in values)
    return np.frombuffer(raw, "<u4").reshape(len(values), words)


def number_of(row: Any) -> int:
    """Return the value of a port in one cycle."""
    return int.from_bytes(np.atleast_1d(row).tobytes(), "little")


def replay(bench: RecordedBench) -> int:
    """Run the recorded cycles on Verilator; return the transfers whose payload was compared.

    Valid and ready signals are equal in each cycle, payloads while they are valid.
    """
    with BlockBench(L2Slice(bench.config), optimize=0) as block:
        widths = {port.name: port.width for port in block.layout.inputs}
        inputs = {
            name: words_of([cycle[name] for cycle in bench.inputs_of], width)
            for name, width in widths.items()
            if name in bench.inputs_of[0]
        }
        block.reset()
        outputs = block.run(**inputs)
    return sum(compared(cycle, k, outputs) for k, cycle in enumerate(bench.outputs_of))


def compared(cycle: dict[str, int], k: int, outputs: Mapping[str, np.ndarray]) -> int:
    """Compare the outputs of cycle `k`; return the channels with a valid payload."""
    count = 0
    for name, expected in cycle.items():
        side, signal = name.split("_")
        is_control = signal.endswith(("valid", "ready"))
        channel = next(c for c in ("ar", "aw", "w", "r", "b") if signal.startswith(c))
        if is_control or cycle[f"{side}_{channel}valid"]:
            found = number_of(outputs[name][k])
            assert found == expected, f"cycle {k}: {name} is {found:#x}, not {expected:#x}"
        count += is_control and signal.endswith("valid") and expected
    return count
