"""Numerics of tensor units as data: the dot product of each GPU generation.

Sources, named in the entries:

- MMA-Sim: the models of Xie et al. (arXiv 2511.10909), probed and validated on silicon from Volta
  to Blackwell.
- Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv 2512.07004), an
  independent set of models, validated on silicon from Volta to Blackwell.
- Fasi et al., "Numerical behavior of NVIDIA tensor cores" (PeerJ Computer Science, 2021).
- Virgo: Kim et al., "Virgo: Cluster-level Matrix Unit Integration in GPUs" (ASPLOS 2025), and its
  RTL.
"""

from dataclasses import dataclass

__all__ = ["FLOOR", "NUMERICS", "TREES", "FusedSumNumerics", "Offer"]

#: Smallest exponent that terms are aligned to in MMA-Sim, which gives a zero term this exponent. An
#: FP32 addend has at least this exponent, so it is the smallest even if no term is zero.
#: Khattak and Mikaitis find -132 (Ampere, Ada) and -133 (Hopper, Blackwell) for FP32 results, and
#: none for Volta's FP16 products, whose exponents do not get that small.
FLOOR = -126

SAME = (("fp32", "fp32"),)
HALF = (("fp32", "fp32"), ("fp16", "fp16"))
#: An FP16 addend to an FP32 result: the one mixture with an exact first step.
MIXED = (*HALF, ("fp16", "fp32"))


@dataclass(frozen=True, kw_only=True)
class FusedSumNumerics:
    """A fused sum: terms aligned to the largest exponent, truncated, added exactly, rounded once.

    Parameters
    ----------
    chunk : int
        Terms of one fused sum (besides the addend). Longer dot products are chains of them.
    fraction_width : int
        Fraction bits that a term keeps at the largest exponent; the rest is truncated.
    result_fraction_width : int
        Fraction bits of an FP32 result, which is rounded toward zero. An FP16 result always has
        its 10, and is rounded to nearest, ties to even.
    group : int
        Terms added exactly before any alignment.

    """

    chunk: int
    fraction_width: int
    result_fraction_width: int = 23
    group: int = 1


@dataclass(frozen=True, kw_only=True)
class Offer:
    """Operand formats and numerics of one kind of instruction.

    Parameters
    ----------
    formats : tuple of str
        Formats of the factors; if there are several, `a` and `b` may differ.
    accumulators : tuple of (str, str)
        Formats of addend and result.
    scale : str or None
        Format of the scales of blocks, None if there are none.
    block : int
        Terms that share a scale.
    fused : FusedSumNumerics or None
        Parameters of the sum; None for trees of ordinary additions.
    source : str
        Source of these numerics.

    """

    formats: tuple[str, ...]
    accumulators: tuple[tuple[str, str], ...] = SAME
    scale: str | None = None
    block: int = 0
    fused: FusedSumNumerics | None = None
    source: str

    def describe(self) -> str:
        """Return one line for messages: formats, scale, addends and results."""
        factors = " or ".join(self.formats)
        scale = f" with scales {self.scale} per {self.block}" if self.scale else ""
        accumulators = " or ".join(f"{addend} to {result}" for addend, result in self.accumulators)
        return f"{factors}{scale} ({accumulators})"


BOTH = "MMA-Sim; Khattak and Mikaitis"
FP8 = ("fp8_e5m2", "fp8_e4m3")
NARROW = (*FP8, "fp6_e3m2", "fp6_e2m3", "fp4_e2m1")
FP4 = ("fp4_e2m1",)


def _wide(sums: dict[str, FusedSumNumerics], source: str = BOTH) -> tuple[Offer, ...]:
    """Return offers of formats that do not mix; FP16 also adds to FP16."""
    return tuple(
        Offer(
            formats=(name,),
            accumulators=MIXED if name == "fp16" else SAME,
            fused=fused,
            source=source,
        )
        for name, fused in sums.items()
    )


AMPERE = {
    "fp16": FusedSumNumerics(chunk=8, fraction_width=24),
    "bf16": FusedSumNumerics(chunk=8, fraction_width=24),
    "tf32": FusedSumNumerics(chunk=4, fraction_width=24),
}
HOPPER = {
    "fp16": FusedSumNumerics(chunk=16, fraction_width=25),
    "bf16": FusedSumNumerics(chunk=16, fraction_width=25),
    "tf32": FusedSumNumerics(chunk=8, fraction_width=25),
}
MX = FusedSumNumerics(chunk=32, fraction_width=25)
GROUPED = FusedSumNumerics(chunk=64, fraction_width=35, group=16)

_MXF8F6F4 = Offer(formats=NARROW, scale="e8m0", block=32, fused=MX, source="MMA-Sim, mxf8f6f4")
_BLACKWELL = (
    *_wide(HOPPER),
    Offer(formats=NARROW, accumulators=HALF, fused=MX, source=f"{BOTH}, f8f6f4"),
    # Scaled FP4 has its own instruction kinds, so they precede the one that mixes formats.
    Offer(formats=FP4, scale="e8m0", block=32, fused=GROUPED, source="MMA-Sim, mxf4"),
    Offer(formats=FP4, scale="ue4m3", block=16, fused=GROUPED, source="MMA-Sim, mxf4nvf4"),
    _MXF8F6F4,
)

#: All numerics by name, each with its offers; the first matching offer applies.
NUMERICS: dict[str, tuple[Offer, ...]] = {
    "virgo_hmma": (Offer(formats=("fp16",), source="Virgo"),),
    "fp32_rne": tuple(
        Offer(formats=formats, source="IEEE 754 additions of FP32")
        for formats in (("fp32",), ("fp16",), ("bf16",), ("tf32",), FP8)
    ),
    "nvidia(volta)": _wide({"fp16": FusedSumNumerics(chunk=4, fraction_width=23)}),
    # In MMA-Sim, Turing's 8 terms are one sum; Fasi et al. observed sums of 4 on a T4.
    "nvidia(turing)": _wide({"fp16": FusedSumNumerics(chunk=8, fraction_width=24)}, "MMA-Sim"),
    "nvidia(turing_chunk4)": _wide(
        {"fp16": FusedSumNumerics(chunk=4, fraction_width=24)}, "Fasi et al."
    ),
    "nvidia(ampere)": _wide(AMPERE),
    "nvidia(ada)": (
        *_wide(AMPERE),
        Offer(
            formats=FP8,
            accumulators=HALF,
            fused=FusedSumNumerics(chunk=16, fraction_width=13, result_fraction_width=13),
            source=BOTH,
        ),
    ),
    "nvidia(hopper)": (
        *_wide(HOPPER),
        Offer(
            formats=FP8,
            accumulators=HALF,
            fused=FusedSumNumerics(chunk=32, fraction_width=13, result_fraction_width=13),
            source=f"{BOTH}, of wgmma",
        ),
    ),
    "nvidia(blackwell)": _BLACKWELL,
    # Scaled FP4 through the instruction that mixes formats.
    "nvidia(blackwell_mxf8f6f4)": (_MXF8F6F4,),
}

#: Numerics that are trees of ordinary additions.
TREES = ("virgo_hmma", "fp32_rne")
