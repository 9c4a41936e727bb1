"""Dot-product units: many products and an addend, with the numerics of a GPU generation."""

from amaranth import *

from ...emit.shared_block import SharedBlock
from ...lib.pipeline import delayed
from .config import DotProductConfig
from .fused_chunk import FusedChunk, dot_product_members
from .latency import addition, sum_latency
from .tree import Tree
from .tree_add import TreeAdd

__all__ = ["DotProduct"]


class DotProduct(SharedBlock):
    """Dot product: ``o = c + a[0] * b[0] + a[1] * b[1] + ...`` with `config.numerics`.

    Latency `dot_product_latency(config)`, one result per cycle, no handshake. If there are more
    terms than one fused sum takes, the dot product is a chain of fused sums in the order of
    `config.chunk_columns`, each rounded. If the addend is not a term, each chain of
    `config.chunks_per_addend` sums starts from zero and an adder follows it.

    Parameters
    ----------
    config : DotProductConfig

    Members
    -------
    a : In(ArrayLayout(config.a_format.width, config.terms))
    b : In(ArrayLayout(config.b_format.width, config.terms))
    c : In(config.addend_format.width)
    a_scale, b_scale : In(ArrayLayout(config.scale_format.width, config.scales))
        Present if `config.scale`; scale k belongs to the k-th block of factors.
    o : Out(config.result_format.width)
        NaN is all ones except the sign.

    """

    def __init__(self, config: DotProductConfig):
        self.config = config
        super().__init__(dot_product_members(config))

    def build(self, platform):
        m = Module()
        config = self.config
        if config.is_tree:
            m.submodules.tree = tree = Tree(config)
            m.d.comb += [tree.a.eq(self.a), tree.b.eq(self.b), tree.c.eq(self.c)]
            m.d.comb += self.o.eq(tree.o)
            return m
        total, waited, per_sum = self.c, 0, config.chunks_per_addend
        for first in range(0, config.chunks, per_sum):
            if config.fused.separate_addend:
                total = self.added(m, first, total, waited)
                waited += addition(config).latency
            else:
                total = self.chain(m, range(first, first + per_sum), total, waited)
        m.d.comb += self.o.eq(self.with_nan(total) if config.fused.separate_addend else total)
        return m

    def with_nan(self, total):
        """Return the sum of an adder with the NaN of fused sums.

        An adder's NaN has only the top bit of the fraction, that of a fused sum has all bits.
        """
        fraction_width = self.config.result_format.fraction_width
        is_nan = total[fraction_width - 1 : -1].all()
        return total | is_nan.replicate(fraction_width)

    def chain(self, m, numbers, total, waited):
        """Return the total of chained fused sums, whose addend is `total` after `waited` cycles."""
        config = self.config
        for number in numbers:
            m.submodules[f"chunk_{number}"] = fused = FusedChunk(config.chunk_configs[number])
            columns = config.chunk_columns[number]
            for name in ("a", "b"):
                factors = Cat(getattr(self, name)[k] for k in columns)
                (late,) = delayed(m, waited, **{f"{name}_{number}": factors})
                m.d.comb += getattr(fused, name).eq(late)
            for name in ("a_scale", "b_scale") if config.scale else ():
                scales = getattr(self, name)
                count = len(getattr(fused, name))
                chosen = Cat(scales[number * count + k] for k in range(count))
                (late,) = delayed(m, waited, **{f"{name}_{number}": chosen})
                m.d.comb += getattr(fused, name).eq(late)
            m.d.comb += fused.c.eq(total)
            total = fused.o
            waited += fused.sizes.latency
        return total

    def added(self, m, first, addend, waited):
        """Return the sum of `addend` and a chain of fused sums, both after `waited` cycles.

        The chain ends when the addend is available; the first addend waits for it.
        """
        config = self.config
        numbers = range(first, first + config.chunks_per_addend)
        total = self.chain(m, numbers, C(0, len(self.o)), waited)
        if not waited:
            (addend,) = delayed(m, sum_latency(config), c=addend)
        m.submodules[f"add_{first}"] = adder = TreeAdd(addition(config))
        m.d.comb += [adder.a.eq(total), adder.b.eq(addend)]
        return adder.o
