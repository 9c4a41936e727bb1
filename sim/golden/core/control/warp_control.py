"""Golden model of warp control, by instruction, without timing."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields

from .....hw.config import CoreBlockConfig
from .....hw.core.control.faults import FaultCause
from .....hw.core.csr_file import ISA
from .....hw.isa.csr import COUNTER_NUMBERS, CSRS
from .....hw.isa.memory_map import SHARED_BASE
from .....hw.isa.operations import ControlOperation as Operation
from .barrier import BarrierModel, RefusedError

__all__ = ["ControlModel", "Effect", "Operands"]

WORD = 0xFFFF_FFFF
NAMES = {csr.number: csr.name for csr in CSRS.values()}


@dataclass(frozen=True, kw_only=True)
class Operands:
    """An instruction: the fields of `operation_layout` used by control.

    ``rows`` are the three operands, each by thread.
    """

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
        names = [each.name for each in fields(self) if each.name != "rows"]
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
    """Golden model of `WarpControl`: state of a core, changed by its instructions.

    Parameters
    ----------
    config : CoreBlockConfig
    core : int
        Index of the core.
    ask : callable
        See `BarrierModel`.

    Attributes
    ----------
    wide : dict of str to int
        64-bit values of ``mcycle`` and ``minstret``, and of all other counters as ``counter``.
    """

    def __init__(
        self,
        config: CoreBlockConfig,
        core: int = 0,
        ask: Callable[[int, int], bool] = lambda barrier, count: True,
    ):
        self.config = config
        self.shape = config.core
        self.core = core
        self.all = (1 << self.shape.threads) - 1
        self.wide = {"mcycle": 0, "minstret": 0, "counter": 0}
        self.barriers = BarrierModel(config, ask)
        self.masks = [1] + [0] * (self.shape.warps - 1)
        self.active = 1
        self.stacks: list[list[tuple[int, int, int]]] = [[] for _ in self.masks]
        self.fcsr = [0 for _ in self.masks]
        self.mscratch = [0 for _ in self.masks]
        self.mepc = [0 for _ in self.masks]
        self.exit_code = 0
        self.products = 0  # warps with a product that they have not waited for

    @property
    def waiting(self) -> int:
        """Mask of warps at barriers."""
        return sum(1 << warp for warp in self.barriers.waiting)

    def execute(self, given: Operands) -> Effect:
        """Execute an instruction."""
        effect = Effect(resumed=1 << given.warp)
        if not self.active >> given.warp & 1:
            return effect
        try:
            ACTIONS[given.operation](self, given, effect)
        except RefusedError as refusal:
            return Effect(fault=refusal.cause)
        if not given.writes:
            effect.values = None
        return effect

    def change_mask(self, given: Operands, mask: int) -> None:
        self.masks[given.warp] = mask & self.all
        if mask & self.all == 0:
            self.active &= ~(1 << given.warp)
            if given.warp == 0:
                self.exit_code = given.scalar(2)

    def tmc(self, given: Operands, effect: Effect) -> None:
        self.change_mask(given, given.scalar(0))

    def pred(self, given: Operands, effect: Effect) -> None:
        self.change_mask(given, given.chosen or given.scalar(1))

    def wspawn(self, given: Operands, effect: Effect) -> None:
        count, pc = given.scalar(0), given.scalar(1)
        if count > self.shape.warps:
            raise RefusedError(FaultCause.WSPAWN_COUNT)
        if pc % 4:
            raise RefusedError(FaultCause.MISALIGNED_JUMP)
        effect.starts = True
        for warp in range(count):
            if warp != given.warp:
                self.masks[warp] |= 1
                self.active |= 1 << warp
                self.products &= ~(1 << warp)
                effect.turns.append((warp, pc))

    def split(self, given: Operands, effect: Effect) -> None:
        rest = given.mask & ~given.chosen
        stack = self.stacks[given.warp]
        diverges = bool(given.chosen and rest)
        if diverges:
            if len(stack) == self.shape.stack_depth:
                raise RefusedError(FaultCause.STACK_OVERFLOW)
            stack.append((given.mask, rest, given.pc + 4 & WORD))
            self.masks[given.warp] = given.chosen
        effect.values = [int(diverges)] * self.shape.threads

    def join(self, given: Operands, effect: Effect) -> None:
        if not given.scalar(0) & 1:
            return
        stack = self.stacks[given.warp]
        if not stack:
            raise RefusedError(FaultCause.STACK_UNDERFLOW)
        both, rest, pc = stack.pop()
        self.masks[given.warp] = rest or both
        if rest:
            stack.append((both, 0, pc))
            effect.turns.append((given.warp, pc))

    def barrier(self, given: Operands, effect: Effect) -> None:
        effect.resumed = self.barriers.arrive(given.warp, given.scalar(0), given.scalar(1))

    def fence(self, given: Operands, effect: Effect) -> None:
        """Do nothing: everything issued before has completed."""

    def fetch_again(self, given: Operands, effect: Effect) -> None:
        effect.turns.append((given.warp, given.pc + 4 & WORD))

    def go_back(self, given: Operands, effect: Effect) -> None:
        effect.turns.append((given.warp, self.mepc[given.warp]))

    def wait(self, given: Operands, effect: Effect) -> None:
        if not self.products >> given.warp & 1:
            raise RefusedError(FaultCause.NO_PRODUCT)
        self.products &= ~(1 << given.warp)

    def end(self, given: Operands, effect: Effect) -> None:
        self.exit_code = given.scalar(2)
        self.active = 0
        self.masks = [0 for _ in self.masks]
        self.barriers.waiting.clear()

    def refuse_partial(self, given: Operands, effect: Effect) -> None:
        raise RefusedError(FaultCause.INACTIVE_THREADS)

    def illegal(self, given: Operands, effect: Effect) -> None:
        raise RefusedError(FaultCause.FETCH if given.a_is_pc else FaultCause.ILLEGAL)

    def read(self, given: Operands, number: int) -> int | None:
        """Return the value of a control register without the thread indices, None if unknown."""
        shape, warp = self.shape, given.warp
        low, high = COUNTER_NUMBERS
        name = NAMES.get(number)
        for half, numbers in enumerate((low, high)):
            if number in numbers:
                counter = {low[0]: "mcycle", low[2]: "minstret"}.get(low[number - numbers[0]])
                return self.wide[counter or "counter"] >> 32 * half & WORD
        if name is None:
            return None
        hart = (self.core << shape.warp_width | warp) << shape.thread_width
        return {
            "fflags": self.fcsr[warp] & 31,
            "frm": self.fcsr[warp] >> 5,
            "fcsr": self.fcsr[warp],
            "mscratch": self.mscratch[warp],
            "mepc": self.mepc[warp],
            "misa": ISA,
            "warp_id": warp,
            "core_id": self.core,
            "warp_mask": self.active,
            "thread_mask": given.mask,
            "mhartid": hart,
            "num_threads": shape.threads,
            "num_warps": shape.warps,
            "num_cores": self.config.cores,
            "local_mem_base": SHARED_BASE,
        }.get(name, 0)

    def access_register(self, given: Operands, effect: Effect) -> None:
        number, operand_field = given.immediate & 0xFFF, given.immediate >> 12 & 31
        old, name = self.read(given, number), NAMES.get(number)
        if old is None:
            raise RefusedError(FaultCause.UNKNOWN_CSR)
        if given.operation is Operation.CSRRW or operand_field:
            if name is None or CSRS[name].access == "read":
                raise RefusedError(FaultCause.READ_ONLY_CSR)
            operand = operand_field if given.b_is_immediate else given.scalar(0)
            self.write(given.warp, name, combine(given.operation, old, operand), effect)
        per_thread = name in ("thread_id", "mhartid")
        effect.values = [old + thread * per_thread for thread in range(self.shape.threads)]

    def write(self, warp: int, name: str, value: int, effect: Effect) -> None:
        fcsr = self.fcsr[warp]
        if name == "accel_cisc":
            effect.command = value
        elif name == "mscratch":
            self.mscratch[warp] = value
        elif name == "mepc":
            self.mepc[warp] = value & ~3
        elif name in ("fflags", "frm", "fcsr"):
            self.fcsr[warp] = {
                "fflags": fcsr & 0xE0 | value & 31,
                "frm": fcsr & 31 | (value & 7) << 5,
                "fcsr": value & 0xFF,
            }[name]


def combine(operation: Operation, old: int, operand: int) -> int:
    """Return the new value of a control register."""
    if operation is Operation.CSRRS:
        return old | operand
    return old & ~operand if operation is Operation.CSRRC else operand


ACTIONS = {
    Operation.TMC: ControlModel.tmc,
    Operation.PRED: ControlModel.pred,
    Operation.WSPAWN: ControlModel.wspawn,
    Operation.SPLIT: ControlModel.split,
    Operation.JOIN: ControlModel.join,
    Operation.BAR: ControlModel.barrier,
    Operation.FENCE: ControlModel.fence,
    Operation.FENCE_I: ControlModel.fetch_again,
    Operation.CSRRW: ControlModel.access_register,
    Operation.CSRRS: ControlModel.access_register,
    Operation.CSRRC: ControlModel.access_register,
    Operation.END: ControlModel.end,
    Operation.HGMMA_WAIT: ControlModel.wait,
    Operation.MRET: ControlModel.go_back,
    Operation.PARTIAL: ControlModel.refuse_partial,
    Operation.ILLEGAL: ControlModel.illegal,
}
