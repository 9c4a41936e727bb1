"""Fused sum: aligns and truncates products and an addend, adds them exactly, rounds once."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ...emit.shared_block import SharedBlock
from ...lib.pipeline import cut
from ...lib.prefix_add import PrefixAdd, PrefixAddConfig
from .config import DotProductConfig
from .fused_align import FusedAlign, FusedAlignConfig, places_below
from .fused_product import decode
from .fused_round import FusedRound, FusedRoundConfig
from .fused_sizes import FusedSizes
from .fused_terms import Terms, make_terms
from .fused_total import carry_save, largest_two, magnitude_of

__all__ = ["FusedChunk", "dot_product_members"]


def dot_product_members(config: DotProductConfig) -> dict:
    """Return the ports of a dot product."""
    members = {
        "a": In(data.ArrayLayout(config.a_format.width, config.terms)),
        "b": In(data.ArrayLayout(config.b_format.width, config.terms)),
        "c": In(config.addend_format.width),
        "o": Out(config.result_format.width),
    }
    if config.scale_format is not None:
        scales = data.ArrayLayout(config.scale_format.width, config.scales)
        members |= {"a_scale": In(scales), "b_scale": In(scales)}
    return members


class FusedChunk(SharedBlock):
    """Fused sum: ``o = c + a[0] * b[0] + a[1] * b[1] + ...``, one alignment and one rounding.

    Latency `FusedSizes.latency`, one result per cycle, no handshake. The stages are below; those in
    `FusedSizes.cuts` and the last one end in a register:

    ========== ===========================================================================
    groups     groups of products summed (grouped kinds only; always registered)
    products   exact products and their exponents; the largest exponent including the addend's
    places     distance of each term below the largest exponent
    carry_save terms shifted by their distances and reduced to two words
    magnitude  sum of the two words, and its magnitude
    result     normalised and rounded; infinities and NaN substituted
    ========== ===========================================================================

    The algorithm is that of MMA-Sim (Xie et al., arXiv 2511.10909) and of Khattak and Mikaitis
    (arXiv 2512.07004).

    Parameters
    ----------
    config : DotProductConfig
        Of one chunk.

    Members
    -------
    As of `DotProduct`.

    """

    def __init__(self, config: DotProductConfig):
        self.config = config
        self.sizes = FusedSizes(dot=config)
        super().__init__(dot_product_members(config))

    def build(self, platform):
        m = Module()
        sizes = self.sizes
        terms = make_terms(m, self, sizes)
        places, addend_places, room, signs, significands, addend, sign, special = self.located(
            m, terms
        )
        words = self.aligned(m, places, significands, signs)
        words.append(self.aligned_addend(m, addend_places, addend))
        first, second, (carry,) = carry_save(m, words, list(signs), sizes.total_width)
        first, second, carry, room, sign, special = cut(
            m,
            "carry_save",
            registered="carry_save" in sizes.cuts,
            first=first,
            second=second,
            carry=carry,
            room=room,
            sign=sign,
            special=special,
        )
        magnitude, is_negative, is_some = self.magnitude(m, first, second, carry)
        magnitude, room, sign, special = cut(
            m,
            "magnitude",
            registered=True,
            magnitude=magnitude,
            room=room,
            sign=(sign ^ is_negative) & is_some,
            special=special,
        )
        (result,) = cut(
            m, "result", registered=True, o=self.rounded(m, magnitude, room, sign, special)
        )
        m.d.comb += self.o.eq(result)
        return m

    def located(self, m, terms: Terms):
        """Return the distances of all terms, the result's room, and the addends.

        Signs are relative to the addend's.
        """
        sizes = self.sizes
        addend, addend_code, largest = self.largest(m, terms)
        sign = terms.addend[-1]
        codes, addend_code, largest, scale, signs, significands, addend, sign, special = cut(
            m,
            "products",
            registered="products" in sizes.cuts,
            codes=Cat(terms.exponents),
            addend_code=addend_code,
            largest=largest,
            scale=terms.scale,
            signs=terms.signs ^ sign.replicate(sizes.terms),
            significands=Cat(terms.significands),
            addend=addend,
            sign=sign,
            special=terms.special,
        )
        places = [
            self.places(m, largest, codes.word_select(k, sizes.exponent_width), f"{k}")
            for k in range(sizes.terms)
        ]
        return cut(
            m,
            "places",
            registered="places" in sizes.cuts,
            places=Cat(places),
            addend_places=self.places(m, largest, addend_code, "addend"),
            room=(largest + scale + sizes.room_offset)[: sizes.room_width],
            signs=signs,
            significands=significands,
            addend=addend,
            sign=sign,
            special=special,
        )

    def largest(self, m, terms: Terms):
        """Return the addend's significand and exponent code, and the largest code of all."""
        sizes = self.sizes
        addend, exponent, is_some = decode(terms.addend, self.config.addend_format)
        code, floor, largest = (
            Signal(sizes.code_shape, name=name) for name in ("code", "floor", "largest")
        )
        m.d.comb += [
            code.eq(exponent + sizes.addend_offset - terms.scale),
            floor.eq(sizes.floor + sizes.offset - terms.scale),
        ]
        least = 1 - self.config.addend_format.bias
        if sizes.floor == least:
            base = code
        elif sizes.floor < least:
            base = Mux(is_some, code, floor)
        else:
            base = Mux(is_some & (code > floor), code, floor)
        # The last comparisons run in parallel. If all products are zero, code 0 has no meaning.
        one, other = largest_two(m, terms.exponents)
        is_base = ((base > one) & (base > other)) | ~(one | other).any()
        m.d.comb += largest.eq(Mux(is_base, base, Mux(one > other, one, other)))
        return addend, code, largest

    def places(self, m, largest, code, name):
        """Return a term's distance below the largest exponent."""
        fast = "places" in self.sizes.cuts
        return places_below(m, largest, code, self.sizes.term_width, name=name, fast=fast)

    def aligned(self, m, places, significands, signs):
        """Return a word per term: complemented if negative, with the inverted sign on top."""
        sizes = self.sizes
        config = FusedAlignConfig(
            width=sizes.term_width,
            integer_width=sizes.term_width - self.config.fused.fraction_width,
            significand_width=sizes.significand_width,
            fraction_width=sizes.fraction_width,
        )
        words = []
        for k in range(sizes.terms):
            m.submodules[f"align_{k}"] = align = FusedAlign(config)
            m.d.comb += [
                align.places.eq(places.word_select(k, config.places_width)),
                align.significand.eq(significands.word_select(k, sizes.significand_width)),
                align.sign.eq(signs[k]),
            ]
            # A negative term is its complement plus 1, minus 2**width. Adding 2**width to the
            # non-negative ones makes it common to all; the addend's word subtracts it.
            words.append(Cat(align.o, ~signs[k]))
        return words

    def aligned_addend(self, m, places, significand):
        """Return the addend's word: never negative, as signs are relative to its sign."""
        sizes = self.sizes
        form = self.config.addend_format
        m.submodules.align_addend = align = FusedAlign(
            FusedAlignConfig(
                width=sizes.term_width,
                integer_width=sizes.term_width - self.config.fused.fraction_width,
                significand_width=form.significand_width,
                fraction_width=form.fraction_width,
            )
        )
        m.d.comb += [align.places.eq(places), align.significand.eq(significand)]
        above = sizes.total_width - sizes.term_width
        return Cat(align.o, C(-sizes.terms & ((1 << above) - 1), above))

    def magnitude(self, m, first, second, carry):
        """Return the magnitude of the sum, whether it is negative, and whether it is nonzero."""
        width = self.sizes.total_width
        m.submodules.total = adder = PrefixAdd(PrefixAddConfig(width=width + 1))
        m.d.comb += [adder.a.eq(Cat(carry, first)), adder.b.eq(Cat(carry, second))]
        total = Signal(width)
        m.d.comb += total.eq(adder.o[1:])
        magnitude, is_some = magnitude_of(m, total)
        return magnitude, total[-1], is_some

    def rounded(self, m, magnitude, room, sign, special):
        """Return the rounded and packed result."""
        config = self.config
        form = config.result_format
        to_nearest = config.result == "fp16"
        m.submodules.round = rounder = FusedRound(
            FusedRoundConfig(
                form=form,
                fraction_width=10 if to_nearest else config.fused.result_fraction_width,
                to_nearest=to_nearest,
                width=self.sizes.magnitude_width,
                room_width=self.sizes.room_width,
            )
        )
        m.d.comb += [rounder.magnitude.eq(magnitude), rounder.room.eq(room)]
        nan, plus, minus = special
        value = Mux(
            plus | minus, Cat(C(form.infinity, form.magnitude_width), minus), Cat(rounder.o, sign)
        )
        return Mux(nan, C(form.magnitude_mask, form.width), value)
