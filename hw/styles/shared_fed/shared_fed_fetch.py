"""Operand fetch: reads A and B of matrix products from shared memory, ahead of their use."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import SharedPortConfig
from ...emit.component import Component
from ...lib.interfaces.shared_memory import WideReadSignature
from .config import READ_BYTES, SharedFedBlockConfig
from .layouts import HALF_LINES, OPERAND_LINES, SLOTS
from .operand_lines import column_bits, exchanged, line_offset, permuted, row_parity
from .signatures import OperandLineSignature

__all__ = ["SharedFedFetch", "line_width", "operands_layout"]


def line_width(config: SharedPortConfig) -> int:
    """Return the bits of the number of a line in shared memory."""
    return config.address_width - exact_log2(READ_BYTES)


def operands_layout(config: SharedPortConfig) -> data.StructLayout:
    """Return the layout of the places of A and B: numbers of their first lines."""
    return data.StructLayout({"a": line_width(config), "b": line_width(config)})


def arrival_layout() -> data.StructLayout:
    """Return the layout of the place of an arriving line: slot, operand and number."""
    return data.StructLayout({
        "slot": range(SLOTS),
        "is_b": 1,
        "line": range(OPERAND_LINES),
    })


class SharedFedFetch(Component):
    """Operand fetch: requests the lines of A and B of one product after the other.

    Lines are requested in the order in which steps use them: the first halves of all rows of A, the
    first half of B, the second halves of all rows of A, the second half of B; 16 lines each. The
    operands of a product go to the slot that follows that of the previous one, once it is free. A
    product is accepted with the last of its lines. Its first request is valid one cycle after the
    product, if the slot is free. Requests follow each other without a gap, one per cycle.

    Parameters
    ----------
    config : SharedFedBlockConfig

    Members
    -------
    i : In(stream.Signature(operands_layout(config.shared)))
        Products, held until accepted.
    read : Out(WideReadSignature(config.shared, READ_BYTES))
    free : In(1)
        Frees the slot of the oldest product.
    line : Out(OperandLineSignature())
    arrived : Out(range(2 * OPERAND_LINES + 1)).array(SLOTS)
        Lines present in each slot, in the order of requests; those of this cycle not yet.
    """

    def __init__(self, config: SharedFedBlockConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(operands_layout(config.shared))),
            "read": Out(WideReadSignature(config.shared, READ_BYTES)),
            "free": In(1),
            "line": Out(OperandLineSignature()),
            "arrived": Out(range(2 * OPERAND_LINES + 1)).array(SLOTS),
        })

    def elaborate(self, platform):
        m = Module()
        request = self.read.request
        occupied, next_slot, oldest = Signal(SLOTS), Signal(range(SLOTS)), Signal(range(SLOTS))
        order = Signal(range(2 * OPERAND_LINES))  # of the line requested next
        begins, goes = Signal(), Signal()
        is_b, half = order[exact_log2(HALF_LINES)], order[-1]
        number = order[: exact_log2(HALF_LINES)]
        hgmma, first = self.config.tensor, Mux(is_b, self.i.payload.b, self.i.payload.a)
        of_a = line_offset(hgmma, Cat(half, number), hgmma.a_row_bytes)
        of_b = line_offset(hgmma, Cat(number, half), hgmma.b_row_bytes)
        place = Signal(line_width(self.config.shared), reset_less=True)
        m.d.comb += [
            begins.eq(order == 0),
            goes.eq(
                self.i.valid
                & (~request.valid | request.ready)
                & ~(begins & occupied.bit_select(next_slot, 1))
            ),
            self.i.ready.eq(goes & order.all()),
            request.payload.eq(Cat(Const(0, exact_log2(READ_BYTES)), place)),
        ]
        with m.If(~request.valid | request.ready):
            m.d.sync += request.valid.eq(goes)
        with m.If(goes):
            number = (first + Mux(is_b, of_b, of_a))[: len(place)]
            m.d.sync += [place.eq(permuted(hgmma, number)), order.eq(order + 1)]
        m.d.sync += [
            next_slot.eq(next_slot + self.i.ready),
            oldest.eq(oldest + self.free),
            occupied.eq((occupied | ((goes & begins) << next_slot)) & ~(self.free << oldest)),
        ]
        arriving = self.arrive(m, oldest)
        line = self.read.response.payload
        if hgmma.is_swizzled:
            line = self.ordered(m, line, arriving, (goes & begins) << next_slot)
        self.write(m, arriving, line)
        return m

    def write(self, m: Module, arriving: data.View, line: Value):
        """Write an arriving line to its buffer."""
        valid = self.read.response.valid
        for port, is_own in ((self.line.a, ~arriving.is_b), (self.line.b, arriving.is_b)):
            m.d.comb += [
                port.mask.eq(valid & is_own),
                port.address.eq(Cat(arriving.line, arriving.slot)),
                port.data.eq(line),
            ]

    def ordered(self, m: Module, line: Value, arriving: data.View, begins: Value) -> Value:
        """Return an arriving line of a swizzled operand with its numbers in the order of columns.

        `begins` has the slot, one-hot, of a product whose first line is requested.
        """
        operands = self.i.payload
        b_row_bytes = self.config.tensor.b_row_bytes
        parities = [
            Signal(2, name=f"parities_{number}", reset_less=True) for number in range(SLOTS)
        ]
        for number, parity in enumerate(parities):  # of the first rows in shared memory
            with m.If(begins[number]):
                m.d.sync += parity.eq(Cat(row_parity(operands.a), row_parity(operands.b)))
        row = Mux(arriving.is_b, arriving.line[column_bits(b_row_bytes)], arriving.line[0])
        first = Cat(parities).word_select(arriving.slot, 2).bit_select(arriving.is_b, 1)
        return exchanged(line, row ^ first)

    def arrive(self, m: Module, oldest: Value) -> data.View:
        """Return the place of an arriving line, and count it."""
        order, slot = Signal(range(2 * OPERAND_LINES)), Signal(range(SLOTS))
        valid = self.read.response.valid
        m.d.sync += [order.eq(order + valid), slot.eq(slot + (valid & order.all()))]
        arriving = Signal(arrival_layout())
        m.d.comb += [
            arriving.slot.eq(slot),
            arriving.is_b.eq(order[exact_log2(HALF_LINES)]),
            arriving.line.eq(Cat(order[: exact_log2(HALF_LINES)], order[-1])),
        ]
        for number, arrived in enumerate(self.arrived):
            with m.If(self.free & (oldest == number)):
                m.d.sync += arrived.eq(0)
            with m.Elif(valid & (slot == number)):
                m.d.sync += arrived.eq(arrived + 1)
        return arriving
