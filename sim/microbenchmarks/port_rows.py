"""Rows: ports with fewer lanes than threads, and units with long operations."""

from ...hw.core.units.divide.divide_lane import DivideLaneConfig
from ...hw.isa.operations import Port
from .definition import port_cycles
from .row import Row, core_of, exactly
from .unrolled_code import STREAMS

__all__ = ["port_rows"]

LANES = {
    "warps": 4,
    "threads": 4,
    "integer_lanes": 2,
    "fp32_lanes": 1,
    "memory_lanes": 2,
    "special_lanes": 1,
    "divide_lanes": 2,
}
#: A stream, its port, and the cycles of a beat.
STREAMS_OF_PORTS = (
    ("sums", Port.INT, 1),
    ("products", Port.INT, 1),
    ("multiply-adds", Port.FP32, 1),
    ("loads", Port.MEMORY, 1),
    ("stores", Port.MEMORY, 1),
    ("reciprocals", Port.SPECIAL, 1),
    ("float quotients", Port.DIVIDE, DivideLaneConfig().float_cycles + 1),
    ("quotients", Port.DIVIDE, DivideLaneConfig().integer_cycles + 1),
)


def port_rows() -> list[Row]:
    """Return the cost of an instruction at each port."""
    rows = []
    for change in ({}, LANES):
        core = core_of(change)
        for name, port, beat in STREAMS_OF_PORTS:
            beats = port_cycles(core, port)
            rows.append(
                Row(
                    group="ports",
                    name=f"{name}, {beats} beats" if beats > 1 else f"{name}, one beat",
                    unit="cycles",
                    limits=exactly(beats * beat),
                    why=f"{beats} x {beat}: beats, and cycles of each",
                    measure=lambda bench, name=name: bench.run(STREAMS[name]).cost,
                    change=change,
                )
            )
    return rows
