"""Non-computational floating-point unit: operations without rounding, for several lanes."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ....config.formats import FP32
from ....emit.component import Component
from ....isa.operations import FloatOperation
from .float_lane_values import join, named, per_lane, spread
from .signatures import FloatOperandsSignature

__all__ = ["FloatNonComputational"]

WIDTH = FP32.width
SIGN = WIDTH - 1
FRACTION = FP32.fraction_width
CLASSES = 10


class FloatNonComputational(Component):
    """Non-computational FP unit: sign injection, min, max, compare, classify, move per lane.

    Combinational; semantics of RISC-V F (20191213, sections 11.7 to 11.9). Properties of the
    operands are packed in words, one bit per lane, so only operand comparisons are replicated per
    lane.

    Parameters
    ----------
    lanes : int

    Members
    -------
    operands : In(FloatOperandsSignature(lanes))
        Results are undefined for other operations.
    o : Out(data.ArrayLayout(32, lanes))
    invalid : Out(lanes)

    """

    def __init__(self, lanes: int):
        self.lanes = lanes
        super().__init__({
            "operands": In(FloatOperandsSignature(lanes)),
            "o": Out(data.ArrayLayout(WIDTH, lanes)),
            "invalid": Out(lanes),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.lanes
        words = [self.word(m, "a", self.operands.a), self.word(m, "b", self.operands.b)]
        a, b = words
        is_less, is_equal = self.ordered(m, a["sign"] & b["sign"])
        is_ordered = named(m, "is_ordered", ~(a["is_nan"] | b["is_nan"]))
        compared = self.compared(m, words, is_less, is_equal) & is_ordered
        picks_a, picks_b = self.picks(m, words, is_less | is_equal)

        magnitude = named(
            m,
            "magnitude",
            Cat(self.operands.a[k][:SIGN] for k in range(lanes)) & spread(picks_a, SIGN)
            | Cat(self.operands.b[k][:SIGN] for k in range(lanes)) & spread(picks_b, SIGN)
            | self.codes(m, a, compared, words),
        )
        sign = (a["sign"] & picks_a) | (b["sign"] & picks_b)
        sign = named(m, "result_sign", self.injected(m, a["sign"], b["sign"], sign))
        m.d.comb += [
            self.o.eq(join((magnitude, SIGN), (sign, 1))),
            self.invalid.eq(self.invalid_of(m, a, b, is_ordered)),
        ]
        return m

    def any_of(self, m: Module, *operations: FloatOperation) -> Value:
        """Return 1 for all lanes if the operation is one of `operations`."""
        matches = Value.cast(self.operands.operation).matches(
            *(int(operation) for operation in operations)
        )
        names = "_".join(operation.name.lower() for operation in operations)
        return named(m, f"is_{names}", matches).replicate(self.lanes)

    def word(self, m: Module, name: str, operands: data.View) -> dict[str, Value]:
        """Return properties of an operand, one bit per lane."""
        exponents = [operands[k][FRACTION:SIGN] for k in range(self.lanes)]
        is_high = named(m, f"is_{name}_high", Cat(x.all() for x in exponents))
        is_low = named(m, f"is_{name}_low", ~Cat(x.any() for x in exponents))
        has_fraction = named(
            m, f"has_{name}_fraction", per_lane(self.lanes, lambda k: operands[k][:FRACTION].any())
        )
        is_quiet = per_lane(self.lanes, lambda k: operands[k][FRACTION - 1])
        is_nan = named(m, f"is_{name}_nan", is_high & has_fraction)
        return {
            "sign": named(m, f"{name}_sign", per_lane(self.lanes, lambda k: operands[k][SIGN])),
            "is_high": is_high,
            "is_low": is_low,
            "has_fraction": has_fraction,
            "is_zero": named(m, f"is_{name}_zero", ~(~is_low | has_fraction)),
            "is_nan": is_nan,
            "is_signalling": named(m, f"is_{name}_signalling", is_nan & ~is_quiet),
        }

    def ordered(self, m: Module, are_negative: Value) -> tuple[Value, Value]:
        """Return masks of lanes with `a` less than `b` (-0 less than +0), and with equal bits."""
        lanes = self.lanes
        below = per_lane(
            lanes, lambda k: self.operands.a[k].as_signed() < self.operands.b[k].as_signed()
        )
        is_equal = named(
            m, "is_equal", per_lane(lanes, lambda k: self.operands.a[k] == self.operands.b[k])
        )
        # Codes of two negative numbers compare in reverse order.
        is_less = (below ^ are_negative) & ~(are_negative & is_equal)
        return named(m, "is_less", is_less), is_equal

    def compared(
        self, m: Module, words: list[dict[str, Value]], is_less: Value, is_equal: Value
    ) -> Value:
        """Return the outcome of a comparison of numbers; 0 for other operations."""
        a, b = words
        are_zeros = a["is_zero"] & b["is_zero"]
        accepts_less = self.any_of(m, FloatOperation.LE, FloatOperation.LT)
        accepts_equal = self.any_of(m, FloatOperation.LE, FloatOperation.EQ)
        return (accepts_less & is_less & ~are_zeros) | (accepts_equal & (is_equal | are_zeros))

    def picks(
        self, m: Module, words: list[dict[str, Value]], is_a_first: Value
    ) -> tuple[Value, Value]:
        """Return masks of lanes with the magnitude of `a`, and of `b`; neither for NaN or codes."""
        a, b = words
        is_maximum = self.any_of(m, FloatOperation.MAX)
        is_extreme = self.any_of(m, FloatOperation.MIN, FloatOperation.MAX)
        keeps_a = self.any_of(
            m, FloatOperation.SGNJ, FloatOperation.SGNJN, FloatOperation.SGNJX, FloatOperation.MOVE
        )
        prefers_a = named(m, "prefers_a", b["is_nan"] | (is_a_first ^ is_maximum))
        is_a = (is_extreme & prefers_a & ~a["is_nan"]) | keeps_a
        is_b = is_extreme & ~b["is_nan"] & ~(prefers_a & ~a["is_nan"])
        return named(m, "picks_a", is_a), named(m, "picks_b", is_b)

    def codes(
        self, m: Module, a: dict[str, Value], compared: Value, words: list[dict[str, Value]]
    ) -> Value:
        """Return class bits, comparison outcomes and the canonical NaN."""
        lanes = self.lanes
        is_class = self.any_of(m, FloatOperation.CLASS)
        is_extreme = self.any_of(m, FloatOperation.MIN, FloatOperation.MAX)
        is_nan = named(m, "is_result_nan", is_extreme & words[0]["is_nan"] & words[1]["is_nan"])
        kinds = Cat(
            a["is_high"] & ~a["has_fraction"],
            ~(a["is_high"] | a["is_low"]),
            a["is_low"] & a["has_fraction"],
            a["is_zero"],
        )
        kinds = named(m, "kinds", kinds & is_class.replicate(4))
        negative = named(m, "negative_kinds", kinds & a["sign"].replicate(4))
        positive = named(m, "positive_kinds", kinds & ~a["sign"].replicate(4))
        names = [negative[k * lanes : (k + 1) * lanes] for k in range(4)]
        names += [positive[k * lanes : (k + 1) * lanes] for k in reversed(range(4))]
        quiet_nan = is_class & a["is_nan"] & ~a["is_signalling"]
        names += [
            named(m, "is_class_signalling", is_class & a["is_signalling"]),
            named(m, "is_class_quiet", quiet_nan),
        ]
        names[0] = named(m, "lowest_code", names[0] | compared)
        quiet = FRACTION - 1
        unused = C(0, lanes * (quiet - CLASSES))
        nan_width = SIGN - quiet
        return join(
            *((name, 1) for name in names),
            (unused, quiet - CLASSES),
            (spread(is_nan, nan_width), nan_width),
        )

    def injected(self, m: Module, a_sign: Value, b_sign: Value, sign: Value) -> Value:
        """Return the result sign: of sign injection, or `sign` for other operations."""
        is_product = self.any_of(m, FloatOperation.SGNJX)
        turned = b_sign ^ Mux(is_product, a_sign, self.any_of(m, FloatOperation.SGNJN))
        is_injection = self.any_of(
            m, FloatOperation.SGNJ, FloatOperation.SGNJN, FloatOperation.SGNJX
        )
        return Mux(is_injection[0], turned, sign)

    def invalid_of(
        self, m: Module, a: dict[str, Value], b: dict[str, Value], is_ordered: Value
    ) -> Value:
        """Return the mask of lanes with an invalid operation."""
        is_signalling = a["is_signalling"] | b["is_signalling"]
        is_quiet = self.any_of(m, FloatOperation.EQ, FloatOperation.MIN, FloatOperation.MAX)
        is_not = self.any_of(m, FloatOperation.LE, FloatOperation.LT)
        return (is_quiet & is_signalling) | (is_not & ~is_ordered)
