"""Warp control by the instruction-set model: effects of control instructions of a core."""

from dataclasses import dataclass, field, fields

import numpy as np

from spica.hw.config import MachineConfig
from spica.hw.core.control.faults import FaultCause
from spica.hw.isa.csr import CSRS, USED_BLOCKS
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.operations import ControlOperation as Operation
from spica.sim.golden.core.control.barrier import OF_CORES
from spica.sim.iss.machine import Iss
from spica.sim.iss.outcome import Cause, Fault, WarpState
from spica.sim.iss.warps import head_of

__all__ = [
    "CAUSES",
    "COUNTER",
    "EXIT_CODE",
    "RS1",
    "RS2",
    "WORD",
    "ControlModel",
    "Effect",
    "Instruction",
]

WORD = 0xFFFF_FFFF
#: Registers of the operands; x3 is the exit code.
RS1, RS2, EXIT_CODE = 10, 11, 3
#: Value of the counters beside ``mcycle`` and ``minstret``, which are 0 without a run.
COUNTER = 0x0123_4567_89AB_CDEF
ILLEGAL, BARRIER = Cause.ILLEGAL_INSTRUCTION, Cause.BAD_BARRIER
#: Cause in the instruction-set model of each cause in the RTL, and words of its message.
CAUSES = {
    FaultCause.ILLEGAL: (ILLEGAL, "is not an instruction"),
    FaultCause.UNKNOWN_CSR: (ILLEGAL, "does not exist"),
    FaultCause.READ_ONLY_CSR: (ILLEGAL, "is read-only"),
    FaultCause.STACK_OVERFLOW: (Cause.STACK_OVERFLOW, "divergent split"),
    FaultCause.STACK_UNDERFLOW: (Cause.STACK_UNDERFLOW, "join without"),
    FaultCause.MISALIGNED_JUMP: (Cause.MISALIGNED_JUMP, "jump to"),
    FaultCause.BARRIER_NUMBER: (BARRIER, "does not exist: the machine has"),
    FaultCause.BARRIER_COUNT: (BARRIER, "the barrier count must be 1 to"),
    FaultCause.BARRIER_DISAGREES: (BARRIER, "at earlier arrivals"),
    FaultCause.BARRIER_FULL: (BARRIER, "already has all"),
    FaultCause.WSPAWN_COUNT: (Cause.BAD_WSPAWN, "the warp count must be"),
}


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """An instruction: its word, and the fields of `operation_layout` that control uses.

    ``rows`` are the three operands, each by thread.
    """

    word: int = 0
    warp: int
    mask: int
    pc: int
    operation: Operation
    rows: tuple[tuple[int, ...], ...]
    rd: int = 0
    writes: bool = False
    immediate: int = 0
    a_is_pc: bool = False
    b_is_immediate: bool = False

    def scalar(self, row: int) -> int:
        """Return an operand of the last active thread."""
        return self.rows[row][self.mask.bit_length() - 1]

    @property
    def chosen(self) -> int:
        """Active threads with an odd operand 0."""
        return sum((value & 1) << thread for thread, value in enumerate(self.rows[0])) & self.mask

    @property
    def payload(self) -> dict:
        """Return the fields as a dict of `operation_layout`."""
        names = [one.name for one in fields(self) if one.name not in ("rows", "word")]
        rows = [list(row) for row in self.rows]
        return {name: getattr(self, name) for name in names} | {"operands": rows}


@dataclass
class Effect:
    """Effect of an instruction.

    ``turns`` are pairs of a warp and its new pc; ``starts`` is True if they start; ``values`` is
    the result by thread, or None if nothing is written.
    """

    values: list[int] | None = None
    fault: FaultCause | None = None
    turns: list[tuple[int, int]] = field(default_factory=list)
    starts: bool = False
    resumed: int = 0
    command: int | None = None


class ControlModel:
    """State of a core's warps, changed by its instructions.

    Parameters
    ----------
    config : MachineConfig
        Without matrix units: their command words are recorded.
    core : int
        Index of the core.

    """

    def __init__(self, config: MachineConfig, core: int = 0):
        assert config.core is not None
        self.config, self.shape, self.core = config, config.core, core
        self.all = (1 << self.shape.threads) - 1
        self.iss = Iss(config)
        self.commands: list[int] = []
        self.iss.devices.cisc = self.commands.append
        self.integers = np.zeros((32, self.shape.threads), np.uint32)

    @property
    def warps(self) -> list[WarpState]:
        """State of each warp."""
        return [self.iss.warp(self.core, warp) for warp in range(self.shape.warps)]

    @property
    def masks(self) -> list[int]:
        """Active threads of each warp."""
        return [warp.mask for warp in self.warps]

    @property
    def active(self) -> int:
        """Mask of the active warps."""
        return sum(warp.active << number for number, warp in enumerate(self.warps))

    @property
    def waiting(self) -> int:
        """Mask of warps at barriers."""
        return sum(bool(warp.waits) << number for number, warp in enumerate(self.warps))

    @property
    def runnable(self) -> list[int]:
        """Warps that can execute an instruction."""
        return [k for k, warp in enumerate(self.warps) if warp.active and not warp.waits]

    @property
    def fcsr(self) -> list[int]:
        """Rounding mode and flags of each warp."""
        return [warp.frm << 5 | warp.fflags for warp in self.warps]

    @property
    def exit_code(self) -> int:
        """Exit code of the core."""
        return self.iss.core_state(self.core)[1] & WORD

    @property
    def arrivals(self) -> list[tuple[tuple[bool, int], int]]:
        """Barrier and count of each waiting warp."""
        messages = []
        for number, warp in enumerate(self.warps):
            if warp.waits:
                words = np.zeros(4, np.uint32)
                self.iss.native.call("iss_barrier", self.core, number, words)
                place = head_of(self.iss.warp_words(self.core, number)).barrier
                messages.append(((bool(words[0]), place & ~OF_CORES), int(words[2])))
        return messages

    def execute(self, given: Instruction) -> Effect:
        """Execute an instruction."""
        before, waited = self.warps[given.warp], self.waiting
        self.iss.write(given.pc, given.word.to_bytes(4, "little"))
        for register, row in zip((RS1, RS2, EXIT_CODE), given.rows, strict=True):
            self.integers[register] = row
        self.iss.set_warp(self.core, given.warp, pc=given.pc, integers=self.integers)
        self.commands.clear()
        retired = self.iss.step(self.core, given.warp)
        assert retired is not None
        if retired.fault is not None:
            return Effect(fault=cause_of(retired.fault, given))
        effect = Effect(resumed=1 << given.warp)
        if given.operation is Operation.BAR:
            effect.resumed = (waited | 1 << given.warp) & ~self.waiting
        if given.writes:
            effect.values = self.values(given, retired.values.tolist())
        effect.command = self.commands[0] if self.commands else None
        after = self.warps
        own = after[given.warp]
        if given.operation is Operation.WSPAWN:
            effect.starts = True
            started = [warp for warp in range(given.scalar(0)) if warp != given.warp]
            effect.turns = [(warp, after[warp].pc) for warp in started]
        is_second_path = len(own.stack) == len(before.stack) and own.stack != before.stack
        if given.operation in (Operation.FENCE_I, Operation.MRET) or is_second_path:
            effect.turns = [(given.warp, own.pc)]
        return effect

    def values(self, given: Instruction, values: list[int]) -> list[int]:
        """Return the result; the instruction-set model has neither cycles nor most counters."""
        if given.operation is Operation.SPLIT:
            return values
        number = given.immediate & 0xFFF
        # Cycles and instructions are counted by the block.
        own = {CSRS[name].number for name in ("mcycle", "mcycleh", "minstret", "minstreth")}
        for half, numbers in (half for block in USED_BLOCKS for half in enumerate(block.halves)):
            if number in numbers:
                return [(COUNTER >> 32 * half & WORD) * (number not in own)] * len(values)
        return values

    def read(self, warp: int, number: int) -> int | None:
        """Return a control register of thread 0 of an active warp; None if it does not exist."""
        effect = self.execute(self.access("csrrs", warp, number, 0))
        return None if effect.values is None else effect.values[0]

    def write(self, warp: int, number: int, value: int) -> None:
        """Write a control register of an active warp."""
        self.execute(self.access("csrrw", warp, number, value))

    def access(self, name: str, warp: int, number: int, value: int) -> Instruction:
        """Return an instruction on a control register; it reads x0 if the value is 0."""
        source = RS1 if value else 0
        return Instruction(
            word=INSTRUCTIONS[name].match | number << 20 | source << 15 | 5 << 7,
            warp=warp,
            mask=self.masks[warp],
            pc=ENTRY,
            operation=Operation[name.upper()],
            rows=((value,) * self.shape.threads, *[(0,) * self.shape.threads] * 2),
            rd=5,
            writes=True,
            immediate=number | source << 12,
        )


def cause_of(fault: Fault, given: Instruction) -> FaultCause:
    """Return the cause in the RTL of a fault, whose place must be that of the instruction."""
    (cause,) = (
        cause
        for cause, (group, words) in CAUSES.items()
        if fault.cause is group and words in fault.sentence
    )
    assert (fault.pc, fault.lanes) == (given.pc, given.mask)
    if cause is FaultCause.MISALIGNED_JUMP:
        assert fault.address == given.scalar(1)
    return cause
