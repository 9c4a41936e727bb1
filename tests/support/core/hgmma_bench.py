"""Bench of the tensor unit that reads shared memory: random products, and a memory beside it."""

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spica.hw.config import CoreConfig, SharedPortConfig
from spica.hw.isa.memory_map import SHARED_BASE
from spica.hw.lib.interfaces.execution_unit import operation_layout, result_layout
from spica.hw.lib.interfaces.memory_fault import memory_fault_layout
from spica.hw.styles.shared_fed.config import (
    READ_BYTES,
    SWIZZLE_ROW_BYTES,
    SharedFedBlockConfig,
    SharedFedConfig,
)
from spica.sim.engine.block_bench import BlockBench
from spica.sim.golden.styles.shared_fed.hgmma import hgmma, hgmma_operands
from spica.sim.golden.styles.shared_fed.operand_layout import operand_places
from support.core.hgmma_operands import random_tiles

__all__ = ["SIZE", "HgmmaRun", "Product", "products", "results_of", "unit_config"]

SIZE = 16 * 1024
#: Bytes of shared memory that a product's operands are placed in, a quarter.
REGION = SIZE // 4
REGISTERS, LANES = 32, 8
RESULT_FIELDS = ("warp", "mask", "pc", "rd", "writes", "flags", "more")


def unit_config(tile: SharedFedConfig, *, latency: int = 2) -> SharedFedBlockConfig:
    """Return a unit with these numerics on a small shared memory."""
    return SharedFedBlockConfig(
        core=CoreConfig(tensor=tile), shared=SharedPortConfig(size=SIZE, read_latency=latency)
    )


@dataclass
class Product:
    """An instruction: its fields, the addresses of each lane, A, B and C."""

    fields: dict
    addresses: np.ndarray
    a: np.ndarray
    b: np.ndarray
    c: np.ndarray

    @property
    def last_lane(self) -> int:
        """The last active lane."""
        return self.fields["mask"].bit_length() - 1

    @property
    def places(self) -> list[int]:
        """Addresses of A and B."""
        return self.addresses[:, self.last_lane].tolist()

    @property
    def operations(self) -> list[dict]:
        """The micro-operations; operands that they do not read are 0."""
        none = [0] * LANES
        return [
            self.fields
            | {"rd": 32 + beat, "beat": beat, "writes": 1, "operation": 1}
            | {
                "operands": [
                    *(self.addresses.tolist() if beat == 0 else (none, none)),
                    self.c[beat].tolist(),
                ]
            }
            for beat in range(REGISTERS)
        ]


def products(config: SharedFedBlockConfig, count: int, seed: int) -> list[Product]:
    """Return random products, at most one per warp at a time; places of operands repeat."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    memory, registers = random_tiles(config.tensor, numbers, count)
    posed, warps = [], config.core.warps
    for k in range(count):
        # Operands of the last few products are never overwritten: each has its own place.
        pair = (swizzled_places if config.tensor.is_swizzled else dense_places)(config.tensor, rng)
        offsets = [REGION * (k % 4) + place for place in pair]
        mask = rng.choice([255, rng.randrange(1, 256)])
        addresses = numbers.integers(0, 1 << 32, (2, LANES), dtype=np.uint32)
        addresses[:, mask.bit_length() - 1] = [SHARED_BASE + offset for offset in offsets]
        fields = {"warp": k % warps, "mask": mask, "pc": rng.getrandbits(32)}
        posed.append(Product(fields, addresses, memory[0, k], memory[1, k], registers[k]))
    return posed


def dense_places(config: SharedFedConfig, rng: random.Random) -> list[int]:
    """Return places of A and B in a region, which do not overlap."""
    pair = rng.sample(range(0, REGION - 1024, 1024), 2)
    offsets = [place + rng.randrange(0, 1024, 32) for place in pair]
    return pair if abs(offsets[0] - offsets[1]) < 1024 else offsets


def swizzled_places(config: SharedFedConfig, rng: random.Random) -> list[int]:
    """Return places of A and B in a region of 32 rows of 128 bytes, side by side."""
    sizes = [config.a_row_bytes, config.b_row_bytes]
    order = rng.sample(range(2), 2)
    columns, at = [0, 0], 0
    for number in order:
        columns[number] = at
        at += sizes[number]
    shift = rng.randrange(0, SWIZZLE_ROW_BYTES - at + 1, READ_BYTES)
    spare = [REGION // SWIZZLE_ROW_BYTES - config.operand_bytes // size for size in sizes]
    rows = [rng.randint(0, free) for free in spare]
    return [
        SWIZZLE_ROW_BYTES * row + column + shift for row, column in zip(rows, columns, strict=True)
    ]


def results_of(config: SharedFedBlockConfig, product: Product) -> list[dict]:
    """Return the results of a product, by the golden model."""
    operands = hgmma_operands(product.a, product.b, config.tensor)
    values = hgmma(*operands, product.c, config.tensor)
    return [
        product.fields
        | {"rd": 32 + k, "writes": 1, "flags": 0, "more": int(k < REGISTERS - 1)}
        | {"values": values[k].tolist()}
        for k in range(REGISTERS)
    ]


class HgmmaRun:
    """Run of a unit on Verilator: offers products as its credits allow, and collects the results.

    A product's operands are written to memory when it begins.

    Parameters
    ----------
    config : SharedFedBlockConfig
    given : list of Product
    seed : int
    pause, stall, busy : float
        Probability of a cycle without a micro-operation, of one in which results are refused, and
        of one in which memory refuses a read.
    willing : callable or None
        ``willing(cycle)`` is the `ready` of `o`, in place of `stall`.
    overlap : bool
        Whether the first micro-operations of a product may precede the last ones of an older one.
    refused : int
        Products that will be reported in `fault`, and have no results.
    latency : int or None
        Cycles from a read to its data; None for those of the config, on which the unit does not
        depend.
    bench : BlockBench
        Bench of a unit of this config.

    Attributes
    ----------
    events : dict of str to list of int
        Cycles with each event of `event_layout`.
    requests, accepted, taken : list of int
        Cycles of accepted reads and micro-operations, and of results.
    results, faults : list of dict

    """

    def __init__(
        self,
        config: SharedFedBlockConfig,
        given: list[Product],
        *,
        bench: BlockBench,
        seed: int = 1,
        pause: float = 0.0,
        stall: float = 0.0,
        busy: float = 0.0,
        willing: Callable[[int], bool] | None = None,
        overlap: bool = False,
        refused: int = 0,
        latency: int | None = None,
    ):
        self.config, self.rng = config, random.Random(seed)
        self.waiting, self.begun = list(given), []
        self.credits, self.overlap = config.tensor.queue, overlap
        self.pause, self.stall, self.busy, self.willing = pause, stall, busy, willing
        self.memory = np.zeros(SIZE, np.uint8)
        cycles = config.shared.read_latency if latency is None else latency
        self.arriving: deque[np.ndarray | None] = deque([None] * cycles)
        self.results: list[dict] = []
        self.faults: list[dict] = []
        self.events: dict[str, list[int]] = {"active": [], "operand_wait": [], "c_wait": []}
        self.requests: list[int] = []
        self.accepted: list[int] = []
        self.result_cycles: list[int] = []
        self.in_flight: set[int] = set()  # warps with a product in the unit
        self.cycle = 0
        expected = REGISTERS * (len(given) - refused)
        limit = 40 * (REGISTERS + 128) * (len(given) + 2)
        bench.reset()
        while len(self.results) < expected or len(self.faults) < refused or self.begun:
            self.step(bench)
            assert self.cycle < limit, "the unit hangs"

    def next_operation(self) -> dict | None:
        """Return the next micro-operation, if one is offered in this cycle."""
        if self.rng.random() < self.pause:
            return None
        while self.credits and self.waiting:
            warp = self.waiting[0].fields["warp"]
            if warp in self.in_flight:
                break  # the scoreboard holds the next product of a warp back
            self.in_flight.add(warp)
            product = self.waiting.pop(0)
            for place, operand in zip(product.places, (product.a, product.b), strict=True):
                addresses = operand_places(self.config.tensor, place, operand is product.a)
                offsets = addresses.astype(np.int64) - SHARED_BASE
                if offsets.min() >= 0 and offsets.max() < SIZE:
                    self.memory[offsets] = operand
            self.begun.append(product.operations)
            self.credits -= 1
        if not self.begun:
            return None
        chosen = first = self.begun[0]
        if self.overlap and len(self.begun) > 1 and len(first) <= 3:
            chosen = self.rng.choice([first, self.begun[1]])
        operation = chosen.pop(0)
        self.begun = [entry for entry in self.begun if entry]
        self.accepted.append(self.cycle)
        return operation

    def step(self, bench: BlockBench):
        """Run a cycle."""
        given, shown = operation_layout(self.config.core), result_layout(self.config.core)
        operation = self.next_operation()
        bits = given.const(operation).as_bits() if operation else 0
        words = -(-given.size // 32)
        payload = np.frombuffer(bits.to_bytes(4 * words, "little"), np.uint32)
        if self.willing is not None:
            ready = self.willing(self.cycle)
        else:
            ready = self.rng.random() >= self.stall
        serves = self.rng.random() >= self.busy
        line = self.arriving.popleft()
        response = np.zeros(READ_BYTES, np.uint8) if line is None else line
        o = bench.run(
            1,
            i_valid=[operation is not None],
            i_payload=[payload],
            o_ready=[ready],
            operands_request_ready=[serves],
            operands_response_valid=[line is not None],
            operands_response_payload=[response.view(np.uint32)],
            fault_ready=[self.rng.random() < 0.5],
        )
        assert o["i_ready"][0]
        self.arriving.append(None)
        if serves and o["operands_request_valid"][0]:
            place = int(o["operands_request_payload"][0])
            assert place % READ_BYTES == 0
            self.arriving[-1] = self.memory[place : place + READ_BYTES].copy()
            self.requests.append(self.cycle)
        if ready and o["o_valid"][0]:
            self.result_cycles.append(self.cycle)
            packed = np.ascontiguousarray(o["o_payload"][0]).tobytes()
            payload = shown.from_bits(int.from_bytes(packed, "little"))
            values = [int(payload.values[lane]) for lane in range(LANES)]
            result = {name: int(payload[name]) for name in RESULT_FIELDS} | {"values": values}
            self.results.append(result)
            if not result["more"]:
                self.in_flight.discard(result["warp"])
        self.record_fault(o)
        for place, cycles in enumerate(self.events.values()):
            if int(o["events"][0]) >> place & 1:
                cycles.append(self.cycle)
        self.credits += int(o["released"][0])
        self.cycle += 1

    def record_fault(self, o):
        """Record a fault; each is held until it is accepted."""
        layout = memory_fault_layout(self.config.core)
        if not o["fault_valid"][0]:
            return
        packed = np.ascontiguousarray(o["fault_payload"][0]).tobytes()
        payload = layout.from_bits(int.from_bytes(packed, "little"))
        fault = {name: int(getattr(payload, name)) for name, _ in layout}
        if not self.faults or self.faults[-1] != fault:
            self.faults.append(fault)
