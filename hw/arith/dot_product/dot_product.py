"""Dot-product units: many products and an addend, with the numerics of a GPU generation."""

from amaranth import *
from amaranth.lib import data

from ...emit.shared_block import SharedBlock
from ...lib.pipeline import delayed
from .config import DotProductConfig
from .fused_chunk import FusedChunk, dot_product_members
from .fused_sizes import FusedSizes
from .tree import Tree

__all__ = ["DotProduct"]


class DotProduct(SharedBlock):
    """Dot product: ``o = c + a[0] * b[0] + a[1] * b[1] + ...`` with `config.numerics`.

    Latency `dot_product_latency(config)`, one result per cycle, no handshake. If there are more
    terms than one fused sum takes, the dot product is a chain of fused sums in term order, each
    rounded.

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

    a: data.View
    b: data.View
    c: Signal
    a_scale: data.View
    b_scale: data.View
    o: Signal

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
        self.chain(m)
        return m

    def chain(self, m):
        """Chain the fused sums, with delayed factors for the later ones."""
        config = self.config
        total, waited = self.c, 0
        for number, chunk in enumerate(config.chunk_configs):
            m.submodules[f"chunk_{number}"] = fused = FusedChunk(chunk)
            for name, ports in (("a", self.a), ("b", self.b)):
                width = len(ports.as_value()) // config.chunks
                factors = ports.as_value().word_select(number, width)
                (late,) = delayed(m, waited, **{f"{name}_{number}": factors})
                m.d.comb += getattr(fused, name).eq(late)
            if config.scale:
                m.d.comb += [fused.a_scale.eq(self.a_scale), fused.b_scale.eq(self.b_scale)]
            m.d.comb += fused.c.eq(total)
            total = fused.o
            waited += FusedSizes(dot=chunk).latency
        m.d.comb += self.o.eq(total)
