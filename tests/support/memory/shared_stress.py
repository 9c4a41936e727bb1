"""Stress test of every port of shared memory, checked in each cycle."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spica.hw.isa.operations import AtomicOperation
from spica.hw.memory.shared.shared_memory import SharedMemoryPorts
from spica.sim.engine.block_bench import BlockBench
from spica.sim.golden.memory.shared.shared_atomics import Atomic
from spica.sim.golden.memory.shared.shared_memory import SharedMemoryModel
from support.alike import require_alike
from support.memory.shared_acceptance import Acceptance, Access
from support.memory.shared_held_ports import HeldPorts

__all__ = ["SharedStress", "StressRun", "Wishes"]


@dataclass(frozen=True)
class Wishes:
    """Accesses that a port wishes to do, by cycle.

    `address` has one entry per cycle, -1 for none; `write` marks writes. `data`, uint8 of
    (cycles, size), and `mask`, bool of the same shape, apply to writes and atomics only.
    `operation` has an `AtomicOperation` for each atomic, else -1, with `expected` and `owner`.
    """

    address: np.ndarray
    write: np.ndarray | bool = False
    data: np.ndarray | None = None
    mask: np.ndarray | None = None
    operation: np.ndarray | None = None
    expected: np.ndarray | None = None
    owner: np.ndarray | None = None

    def atomic(self, cycle: int, access: Access) -> Atomic:
        """Return the atomic of a cycle, of which `access` has address, mask and operand."""
        assert self.operation is not None
        assert self.expected is not None
        assert self.owner is not None
        return Atomic(
            address=access.address,
            operation=AtomicOperation(int(self.operation[cycle])),
            mask=access.mask,
            data=access.data,
            expected=int(self.expected[cycle]),
            owner=int(self.owner[cycle]),
        )


@dataclass
class StressRun:
    """Result of a run: accesses of each port, and the most cycles that one was stalled."""

    cycles: int
    accesses: Counter[str] = field(default_factory=Counter)
    longest_wait: Counter[str] = field(default_factory=Counter)
    #: Cycle of acceptance of each access, by port.
    accepted: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    #: Results of store-conditionals: how many wrote, 0, and how many did not, 1.
    conditional: Counter[int] = field(default_factory=Counter)


class SharedStress:
    """Stress test: runs wishes on the RTL, whose outputs are checked in every cycle.

    Acceptances obey the rules of `Acceptance`. Responses with their cycles and data, events and
    `busy` follow from them and from the golden model of the contents.
    Memory is first filled with random bytes. State is kept from one `run` to the next.

    Parameters
    ----------
    config : SharedMemoryPorts
        With at least one wide write port or narrow port.
    seed : int
    optimize : int
        Level 0 to 3 of the C++ compiler; 0 suits short runs.

    """

    def __init__(self, config: SharedMemoryPorts, *, seed: int = 0, optimize: int = 1):
        self.config = config
        self.bench = BlockBench(HeldPorts(config), optimize=optimize, seed=seed)
        self.rng = np.random.default_rng(seed)
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bench.close()

    def start(self) -> None:
        """Reset the memory, and fill it with random bytes."""
        self.bench.reset()
        self.model = SharedMemoryModel(self.config)
        self.acceptance = Acceptance(self.config, self.model.atomics)
        self.sizes = self.acceptance.sizes
        self.offered: dict[str, Access] = {}
        self.counted = Counter[str]()
        self.due: dict[int, dict[str, int | None]] = defaultdict(dict)
        name = "write_0" if self.config.write_sizes else "narrow_0"
        size = self.sizes[name]
        address = np.arange(0, self.config.memory.size, size)
        data = self.rng.integers(0, 256, (len(address), size), np.uint8)
        self.run({name: Wishes(address, True, data, np.ones_like(data, bool))})

    def run(self, wishes: Mapping[str, Wishes]) -> StressRun:
        """Run one cycle for each wish, and further cycles until all accesses are done; check."""
        cycles = max(len(port_wishes.address) for port_wishes in wishes.values())
        # The last accesses of all ports are done within this many further cycles.
        slowest = 4 if self.config.memory.atomics is None else 32
        total = cycles + slowest * len(self.sizes) + self.config.memory.read_latency
        inputs: dict[str, Any] = {}
        for name, port_wishes in wishes.items():
            inputs |= port_inputs(name, port_wishes, total, self.sizes[name])
        outputs = self.bench.run(total, **inputs)
        run = StressRun(total)
        self.expect(outputs, self.accesses_of(wishes), run)
        return run

    def accesses_of(self, wishes: Mapping[str, Wishes]) -> dict[int, dict[str, Access]]:
        """Return the wished accesses of each cycle."""
        wished: dict[int, dict[str, Access]] = defaultdict(dict)
        for name, port_wishes in wishes.items():
            address = port_wishes.address.tolist()
            write = np.broadcast_to(port_wishes.write, len(address)).tolist()
            data, mask = (
                port_wishes.data,
                None if port_wishes.mask is None else bits_of(port_wishes.mask),
            )
            for cycle in np.flatnonzero(port_wishes.address >= 0).tolist():
                access = Access(address[cycle], write[cycle])
                is_atomic = port_wishes.operation is not None and port_wishes.operation[cycle] >= 0
                if write[cycle] or is_atomic:
                    assert data is not None
                    assert mask is not None
                    access.data = int.from_bytes(data[cycle].tobytes(), "little")
                    access.mask = mask[cycle]
                if is_atomic:
                    access.atomic = port_wishes.atomic(cycle, access)
                wished[cycle][name] = access
        return wished

    def expect(self, outputs, wished, run: StressRun) -> None:
        """Check all outputs."""
        names = list(self.sizes)
        words = {name: words_of(outputs[f"{name}_word"], self.sizes[name]) for name in self.readers}
        answers = {name: outputs[f"{name}_answer"].tolist() for name in self.readers}
        done, busy, events = (outputs[name] for name in ("done", "busy", "events"))
        done, busy, events = done.tolist(), busy.tolist(), words_of(events, 0)
        waits = Counter[str]()
        for cycle in range(run.cycles):
            accepted = [name for bit, name in enumerate(names) if done[cycle] >> bit & 1]
            self.acceptance.check(self.offered, accepted)
            require_alike(events[cycle], self.events(accepted), "events of cycle", cycle)
            due = self.due.pop(cycle, {})
            is_busy = bool(self.offered or due or self.due or self.counted or self.model.busy)
            require_alike(busy[cycle], is_busy, "busy in cycle", cycle)
            for name in self.readers:
                require_alike(answers[name][cycle], name in due, name, "valid in cycle", cycle)
                if due.get(name) is not None:
                    require_alike(words[name][cycle], due[name], name, "in cycle", cycle)
            self.count(accepted)
            self.accept(cycle, accepted, run)
            for name in accepted:
                run.accepted[name].append(cycle)
                del self.offered[name]
                waits[name] = 0
            for name in self.offered:
                waits[name] += 1
                run.longest_wait[name] = max(run.longest_wait[name], waits[name])
            for name, access in wished.get(cycle, {}).items():
                self.offered.setdefault(name, access)
        run.accesses = Counter({name: len(accesses) for name, accesses in run.accepted.items()})
        assert not (self.offered or self.due), "the run must end without accesses in progress"

    @property
    def readers(self) -> list[str]:
        """Ports with responses."""
        return [name for name in self.sizes if not name.startswith("write")]

    def accept(self, cycle: int, accepted: list[str], run: StressRun) -> None:
        """Apply the accepted accesses: reads, atomics, writes."""
        accesses = [(name, self.offered[name], self.sizes[name]) for name in accepted]
        due = self.due[cycle + self.config.memory.read_latency] if accesses else {}
        for name, access, size in accesses:
            if not name.startswith("write") and access.atomic is None:
                due[name] = None if access.write else self.model.read(access.address, size)
        for name, access, _ in accesses:
            if access.atomic is not None:
                due[name] = result = self.execute(name, access.atomic)
                if access.atomic.operation == AtomicOperation.SC:
                    run.conditional[result or 0] += 1
        if not due:
            self.due.pop(cycle + self.config.memory.read_latency, None)
        for _, access, size in accesses:
            if access.write:
                self.model.write(access.address, size, access.data, access.mask)
        self.model.end_cycle()

    def execute(self, name: str, atomic: Atomic) -> int | None:
        """Execute an atomic of a port on the model; return its result."""
        assert self.model.atomics is not None
        return self.model.atomics.execute(int(name.partition("_")[2]), atomic)

    def count(self, accepted: list[str]) -> None:
        """Count the accesses of lanes and rows, which are reported a cycle later."""
        granted = set(accepted)
        self.counted = Counter(
            f"{kind}_{'waits' if name not in granted else 'writes' if access.write else 'reads'}"
            for name, access in self.offered.items()
            if (kind := name.partition("_")[0]) in ("narrow", "row")
        )

    def events(self, accepted: list[str]) -> int:
        """Return the expected events as a number; see `shared_events`."""
        granted, value, at = set(accepted), 0, 0
        for kind, sizes in (("read", self.config.read_sizes), ("write", self.config.write_sizes)):
            for i, _ in enumerate(sizes):
                value |= (f"{kind}_{i}" in granted) << at + i
                waits = f"{kind}_{i}" in self.offered and f"{kind}_{i}" not in granted
                value |= waits << at + len(sizes) + i
            at += 2 * len(sizes)
        for kind, ports in (
            ("narrow", self.config.memory.narrow_ports),
            ("row", self.config.row_ports),
        ):
            width = ports.bit_length()
            for name in ("reads", "writes", "waits"):
                value |= self.counted[f"{kind}_{name}"] << at
                at += width
        return value


def port_inputs(name: str, wishes: Wishes, cycles: int, size: int) -> dict[str, np.ndarray]:
    """Return the inputs of a port, idle after its wishes."""
    count = len(wishes.address)
    wish = np.zeros(cycles, np.uint8)
    address = np.zeros(cycles, np.uint32)
    wish[:count] = wishes.address >= 0
    address[:count] = np.maximum(wishes.address, 0)
    inputs = {f"{name}_wish": wish, f"{name}_address": address}
    if name.startswith(("narrow", "row")):
        inputs[f"{name}_write"] = np.zeros(cycles, np.uint8)
        inputs[f"{name}_write"][:count] = wishes.write
    if not name.startswith("read") and wishes.data is not None and wishes.mask is not None:
        data = np.zeros((cycles, size), np.uint8)
        mask = np.zeros((cycles, 8 * -(-size // 8)), bool)
        data[:count], mask[:count, :size] = wishes.data, wishes.mask
        inputs[f"{name}_data"] = as_input(data)
        inputs[f"{name}_mask"] = as_input(np.packbits(mask, axis=1, bitorder="little"))
    if wishes.operation is not None:
        fields = {"operation": wishes.operation, "expected": wishes.expected, "owner": wishes.owner}
        for key, values in fields.items():
            inputs[f"{name}_{key}"] = np.zeros(cycles, np.uint32)
            inputs[f"{name}_{key}"][:count] = np.maximum(values, 0)
        inputs[f"{name}_atomic"] = np.zeros(cycles, np.uint8)
        inputs[f"{name}_atomic"][:count] = wishes.operation >= 0
    return inputs


def as_input(rows: np.ndarray) -> np.ndarray:
    """Return rows of bytes as one number each, or as 32-bit words above 64 bits."""
    cycles, size = rows.shape
    if size > 8:
        return rows.view(np.uint32)
    wide = np.zeros((cycles, 8), np.uint8)
    wide[:, :size] = rows
    return wide.view(np.uint64)[:, 0]


def bits_of(mask: np.ndarray) -> list[int]:
    """Return rows of bits as numbers, the first bit lowest."""
    packed = np.packbits(mask, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def words_of(rows: np.ndarray, size: int) -> list[int]:
    """Return an output as one number per cycle."""
    if rows.ndim == 1:
        return rows.tolist()
    return [int.from_bytes(row.tobytes(), "little") for row in rows]
