"""Numerics of tensor units as data: the dot product of each GPU generation.

Sources, named in the entries:

- MMA-Sim: the models of Xie et al. (arXiv 2511.10909), probed and validated on silicon from Volta
  to Blackwell; of FP8 on Hopper the instruction wgmma, on Blackwell tcgen05.mma.
- Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv 2512.07004), an
  independent set of models, validated on silicon from Volta to Blackwell; of FP8 always the
  instruction mma.sync. Their results on eight GPUs are compared in docs/tensor_numerics.md.
- Fasi et al., "Numerical behavior of NVIDIA tensor cores" (PeerJ Computer Science, 2021).
- Virgo: Kim et al., "Virgo: Cluster-level Matrix Unit Integration in GPUs" (ASPLOS 2025), and its
  RTL.
"""

from dataclasses import dataclass

__all__ = ["FLOOR", "NUMERICS", "TREES", "FusedSumNumerics", "Offer"]

#: Smallest exponent that terms are aligned to in MMA-Sim, which gives a zero term this exponent. An
#: FP32 addend has at least this exponent, so it is the smallest even if no term is zero.
#: Khattak and Mikaitis find -132 (Ampere, Ada) and -133 (Hopper, Blackwell) for FP32 results, and
#: none for Volta's FP16 products, whose exponents do not get that small. FP16 results have a higher
#: floor in their models, `FusedSumNumerics.half_floor`.
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
    half_floor : int
        Smallest exponent that terms are aligned to if the result is FP16.
    alternating : int
        Chained fused sums that take pairs of products in turns; 1 if each takes adjacent products.
    separate_addend : bool
        Whether the addend is not a term: the sum of the products of one instruction, as long as
        `alternating` fused sums, is rounded to the result's format, then added to the addend and
        rounded to nearest, ties to even.

    """

    chunk: int
    fraction_width: int
    result_fraction_width: int = 23
    group: int = 1
    half_floor: int = FLOOR
    alternating: int = 1
    separate_addend: bool = False


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
    "fp16": FusedSumNumerics(chunk=8, fraction_width=24, half_floor=-20),
    "bf16": FusedSumNumerics(chunk=8, fraction_width=24),
    "tf32": FusedSumNumerics(chunk=4, fraction_width=24),
}
HOPPER = {
    "fp16": FusedSumNumerics(chunk=16, fraction_width=25, half_floor=-21),
    "bf16": FusedSumNumerics(chunk=16, fraction_width=25),
    "tf32": FusedSumNumerics(chunk=8, fraction_width=25),
}
#: FP8 with 13 fraction bits, of Ada in sums of 16 and of Hopper in sums of 32.
FP8_16 = FusedSumNumerics(chunk=16, fraction_width=13, result_fraction_width=13, half_floor=-20)
FP8_32 = FusedSumNumerics(chunk=32, fraction_width=13, result_fraction_width=13, half_floor=-21)
MX = FusedSumNumerics(chunk=32, fraction_width=25, half_floor=-21)
GROUPED = FusedSumNumerics(chunk=64, fraction_width=35, group=16)
#: FP8 of mma.sync to FP16 on Hopper and on B200: as FP16 products, in two chained sums.
MMA_SYNC_HALF = Offer(
    formats=FP8,
    accumulators=(("fp16", "fp16"),),
    fused=FusedSumNumerics(
        chunk=16, fraction_width=25, half_floor=-21, alternating=2, separate_addend=True
    ),
    source="Khattak and Mikaitis's measurements, mma.sync",
)

_MXF8F6F4 = Offer(formats=NARROW, scale="e8m0", block=32, fused=MX, source="MMA-Sim, mxf8f6f4")
_BLACKWELL = (
    *_wide(HOPPER),
    Offer(formats=NARROW, accumulators=HALF, fused=MX, source="MMA-Sim, f8f6f4 of tcgen05.mma"),
    # Scaled FP4 has its own instruction kinds, so they precede the one that mixes formats.
    Offer(formats=FP4, scale="e8m0", block=32, fused=GROUPED, source="MMA-Sim, mxf4 and mxf4nvf4"),
    Offer(formats=FP4, scale="e8m0", block=16, fused=GROUPED, source="MMA-Sim, mxf4nvf4"),
    Offer(formats=FP4, scale="ue4m3", block=16, fused=GROUPED, source="MMA-Sim, mxf4nvf4"),
    Offer(formats=FP4, scale="ue4m3", block=32, fused=GROUPED, source="MMA-Sim's mxf4nvf4 formula"),
    _MXF8F6F4,
)

#: All numerics by name, each with its offers; the first matching offer applies.
NUMERICS: dict[str, tuple[Offer, ...]] = {
    "virgo_hmma": (Offer(formats=("fp16",), source="Virgo"),),
    "fp32_rne": tuple(
        Offer(formats=formats, source="IEEE 754 additions of FP32")
        for formats in (("fp32",), ("fp16",), ("bf16",), ("tf32",), FP8)
    ),
    "nvidia(volta)": _wide({"fp16": FusedSumNumerics(chunk=4, fraction_width=23, half_floor=-19)}),
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
            fused=FP8_16,
            source=BOTH,
        ),
    ),
    "nvidia(hopper)": (
        *_wide(HOPPER),
        Offer(formats=FP8, accumulators=HALF, fused=FP8_32, source="MMA-Sim, wgmma"),
    ),
    # Measured with an addend of 0 only; as a term it is as in Khattak and Mikaitis's model.
    "nvidia(hopper_mma_sync)": (
        MMA_SYNC_HALF,
        Offer(formats=FP8, fused=FP8_32, source="Khattak and Mikaitis, mma.sync"),
    ),
    "nvidia(blackwell)": _BLACKWELL,
    "nvidia(b200_mma_sync)": (
        MMA_SYNC_HALF,
        Offer(
            formats=FP8,
            fused=FusedSumNumerics(chunk=32, fraction_width=25, separate_addend=True),
            source="Khattak and Mikaitis's measurements, mma.sync",
        ),
    ),
    # Scaled FP4 through the instruction that mixes formats.
    "nvidia(blackwell_mxf8f6f4)": (_MXF8F6F4,),
}

#: Numerics that are trees of ordinary additions.
TREES = ("virgo_hmma", "fp32_rne")
