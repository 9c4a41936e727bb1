"""Arithmetic of an atomic operation: the bytes that it writes to a word of memory."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ...emit.component import Component
from ...isa.operations import AtomicOperation
from ...lib.prefix_add import prefix_carries

__all__ = ["AtomicUnit", "AtomicUnitSignature", "writes_nothing"]

WORD = 32
SIGNED = (AtomicOperation.MIN, AtomicOperation.MAX)
LEAST = (AtomicOperation.MIN, AtomicOperation.MINU)
CHOOSING = (
    *(AtomicOperation.MIN, AtomicOperation.MAX),
    *(AtomicOperation.MINU, AtomicOperation.MAXU),
)
LOADING = (AtomicOperation.LR, AtomicOperation.LOAD)


def is_one_of(operation: Value, operations: tuple[AtomicOperation, ...]) -> Value:
    """Return whether `operation` is one of several."""
    return Cat(operation == one for one in operations).any()


def writes_nothing(operation: Value) -> Value:
    """Return whether an `AtomicOperation` only loads."""
    return is_one_of(operation, LOADING)


class AtomicUnitSignature(wiring.Signature):
    """Values of an atomic operation, seen from their source.

    Members
    -------
    operation : Out(AtomicOperation)
    mask : Out(4)
    old : Out(32)
        The word in memory.
    operand : Out(32)
        rs2, at the position of the access.
    expected : Out(32)
        Likewise rd, for a compare-and-swap.
    word : In(32)
        The new bytes.
    writes : In(1)
        The bytes of `mask` are to be written.
    """

    def __init__(self):
        super().__init__({
            "operation": Out(AtomicOperation),
            "mask": Out(4),
            "old": Out(WORD),
            "operand": Out(WORD),
            "expected": Out(WORD),
            "word": In(WORD),
            "writes": In(1),
        })


class AtomicUnit(Component):
    """Arithmetic of one atomic operation on a byte, a half or a word. Combinational.

    `mask` selects the bytes that the operation accesses: one, an aligned pair, or all of them.
    Values outside have no effect, so that operands may be repeated in every position, as those of
    stores are. Bytes of `word` outside `mask` are undefined. The result of the instruction is
    `old`, before alignment and extension; that of a store-conditional is known where reservations
    are, and the unit is used only if it writes.

    Members are those of `AtomicUnitSignature`, seen from the other side.
    """

    def __init__(self):
        super().__init__(AtomicUnitSignature().flip())

    def elaborate(self, platform):
        m = Module()
        operation = self.operation
        accessed, signs = Signal(WORD), Signal(WORD)
        a, b = Signal(WORD), Signal(WORD)
        is_signed, subtracts = Signal(), Signal()
        tops = self.mask & ~(self.mask >> 1)
        m.d.comb += [
            accessed.eq(Cat(one.replicate(8) for one in self.mask)),
            is_signed.eq(is_one_of(operation, SIGNED)),
            subtracts.eq(is_one_of(operation, CHOOSING)),
            # A signed comparison is an unsigned one of numbers with inverted signs.
            signs.eq(Cat(Cat(C(0, 7), top & is_signed) for top in tops)),
            a.eq((self.old & accessed) ^ signs),
            b.eq((self.operand & accessed) ^ signs ^ subtracts.replicate(WORD)),
        ]
        # Bytes below the access are 0 in a sum, so that no carry enters it.
        half_sum = a ^ b
        generated, propagated = prefix_carries(m, a & b, half_sum)
        total = half_sum ^ (generated << 1)
        # The difference, with a carry into bit 0, has a carry out unless `old` is less.
        is_less = ~(generated[-1] | propagated[-1])
        picks_old = Signal()
        m.d.comb += picks_old.eq(is_less == is_one_of(operation, LEAST))
        is_equal = ~((self.old ^ self.expected) & accessed).any()
        with m.Switch(operation):
            with m.Case(AtomicOperation.ADD):
                m.d.comb += self.word.eq(total[:WORD])
            with m.Case(AtomicOperation.XOR):
                m.d.comb += self.word.eq(self.old ^ self.operand)
            with m.Case(AtomicOperation.OR):
                m.d.comb += self.word.eq(self.old | self.operand)
            with m.Case(AtomicOperation.AND):
                m.d.comb += self.word.eq(self.old & self.operand)
            with m.Case(*CHOOSING):
                m.d.comb += self.word.eq(Mux(picks_old, self.old, self.operand))
            with m.Default():
                m.d.comb += self.word.eq(self.operand)
        compares = operation == AtomicOperation.CAS
        m.d.comb += self.writes.eq(~writes_nothing(operation) & (~compares | is_equal))
        return m
