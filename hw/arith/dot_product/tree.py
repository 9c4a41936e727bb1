"""Dot products by trees of ordinary additions: round products, add neighbours, then add c."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config.formats import FP16, FP32
from ...emit.component import Component
from ...lib.pipeline import delayed
from ..float.normalise import Normalise, NormaliseConfig
from .config import DotProductConfig
from .tree_add import TreeAdd, TreeAddConfig
from .tree_product import TreeProduct, TreeProductConfig

__all__ = ["TREE_FORMATS", "Tree", "TreePlan", "tree_latency", "tree_plan"]

#: Format of the products and of their sums, by numerics.
TREE_FORMATS = {"virgo_hmma": FP16, "fp32_rne": FP32}


@dataclass(frozen=True, kw_only=True)
class TreePlan:
    """Components of a tree.

    Parameters
    ----------
    terms : int
        Products; a power of two.
    product : TreeProductConfig
    sums : tuple of TreeAddConfig
        Adders by level, those of the products first.
    last : TreeAddConfig
        Adder of c.

    """

    terms: int
    product: TreeProductConfig
    sums: tuple[TreeAddConfig, ...]
    last: TreeAddConfig

    @property
    def latency(self) -> int:
        """Cycles from the products' factors to the result."""
        return self.addend_delay + self.last.latency

    @property
    def addend_delay(self) -> int:
        """Cycles until c is added: for the product, the sums, and one to widen a narrow sum."""
        widening = int(self.product.form != FP32)
        return self.product.latency + sum(level.latency for level in self.sums) + widening


def tree_plan(config: DotProductConfig) -> TreePlan:
    """Return the components of the tree for `config`."""
    if config.numerics not in TREE_FORMATS:
        raise ValueError(
            f"numerics of a tree must be {' or '.join(TREE_FORMATS)}, not {config.numerics}"
        )
    form = TREE_FORMATS[config.numerics]
    product = TreeProductConfig(a=config.a_format, b=config.b_format, form=form)
    # Products exact in FP32 are so far from its limits that no sum of them gets close.
    limits = not product.is_exact
    latency = 1 if form == FP16 else 2
    sums = tuple(
        TreeAddConfig(
            form=form,
            latency=latency,
            overflows=limits,
            subnormals=limits,
            addend_width=0 if level else product.significand_width,
        )
        for level in range(exact_log2(config.terms))
    )
    # FP16 sums never get close to FP32's limits. The addend may be subnormal.
    last = TreeAddConfig(form=FP32, overflows=limits and form == FP32)
    return TreePlan(terms=config.terms, product=product, sums=sums, last=last)


def tree_latency(config: DotProductConfig) -> int:
    """Return the cycles from operands to result of the tree for `config`."""
    return tree_plan(config).latency


class Tree(Component):
    """Tree of additions: ``o = (a[0]*b[0] + a[1]*b[1]) + ... + c``, with every step rounded.

    Products are rounded to the tree's format, FP16 for ``virgo_hmma`` and FP32 for ``fp32_rne``.
    Neighbours are added, 0 and 1, 2 and 3, ...; then neighbours of the sums, until one is left,
    each rounded to the same format. That sum, exact in FP32, is added to c in FP32. All rounding
    is to nearest, ties to even, with full subnormal support and canonical NaN results.

    Latency ``tree_latency(config)``, one result per cycle, no handshake; all inputs belong to the
    same cycle.

    Parameters
    ----------
    config : DotProductConfig
        Its numerics are one of `TREE_FORMATS`.

    Members
    -------
    a : In(ArrayLayout(width of config.a, config.terms))
    b : In(ArrayLayout(width of config.b, config.terms))
    c : In(32)
    o : Out(32)

    """

    def __init__(self, config: DotProductConfig):
        self.config = config
        self.plan = tree_plan(config)
        super().__init__({
            "a": In(data.ArrayLayout(self.plan.product.a.width, config.terms)),
            "b": In(data.ArrayLayout(self.plan.product.b.width, config.terms)),
            "c": In(FP32.width),
            "o": Out(FP32.width),
        })

    def elaborate(self, platform):
        m = Module()
        values = []
        for index in range(self.plan.terms):
            m.submodules[f"product_{index}"] = product = TreeProduct(self.plan.product)
            m.d.comb += [product.a.eq(self.a[index]), product.b.eq(self.b[index])]
            values.append(product.o)
        for level, config in enumerate(self.plan.sums):
            sums = []
            for index, (left, right) in enumerate(zip(values[0::2], values[1::2], strict=True)):
                m.submodules[f"add_{level}_{index}"] = add = TreeAdd(config)
                m.d.comb += [add.a.eq(left), add.b.eq(right)]
                sums.append(add.o)
            values = sums
        (addend,) = delayed(m, self.plan.addend_delay, c=self.c)
        m.submodules.add_c = last = TreeAdd(self.plan.last)
        m.d.comb += [
            last.a.eq(values[0] if self.plan.product.form == FP32 else self.widened(m, values[0])),
            last.b.eq(addend),
            self.o.eq(last.o),
        ]
        return m

    def widened(self, m, stored):
        """Return a stored sum converted exactly to FP32, one cycle later."""
        form = self.plan.product.form
        fraction, exponent = stored[: form.fraction_width], stored[form.fraction_width : -1]
        is_normal = exponent.any()
        m.submodules.normalise = normalise = Normalise(
            NormaliseConfig(width=form.significand_width, leading_zeros=form.fraction_width)
        )
        m.d.comb += normalise.i.eq(Cat(fraction, is_normal))
        least = 1 + FP32.bias - form.bias
        field = Signal(FP32.exponent_width)
        with m.If(exponent.all()):
            m.d.comb += field.eq(FP32.exponent_mask)
        with m.Elif(is_normal):
            m.d.comb += field.eq(exponent + (least - 1))
        with m.Elif(fraction.any()):
            m.d.comb += field.eq(least - normalise.shift)
        widened = Signal(form.fraction_width + FP32.exponent_width + 1, reset_less=True)
        m.d.sync += widened.eq(Cat(normalise.o[:-1], field, stored[-1]))
        return Cat(C(0, FP32.fraction_width - form.fraction_width), widened)
