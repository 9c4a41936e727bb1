"""Configuration of a dot-product unit."""

from dataclasses import dataclass, replace

from ...config.checks import require_choice, require_integer
from ...config.formats import FORMATS, FloatFormat
from ...config.numerics import FLOOR, NUMERICS, TREES, FusedSumNumerics, Offer
from ...config.tensor import TensorNumerics

__all__ = ["DotProductConfig"]

#: Adjacent products that go to the same one of alternating fused sums.
PAIR = 2


@dataclass(frozen=True, kw_only=True)
class DotProductConfig:
    """Length, formats and numerics of a dot product.

    Parameters
    ----------
    terms : int
        Products in the sum: 2, 4, 8, 16, 32 or 64.
    numerics : str
        A key of `NUMERICS`.
    a, b : str
        Formats of the factors.
    addend, result : str
        Formats of the addend and of the result.
    scale : str or None
        Format of the scales of blocks of factors; None for unscaled factors.
    block : int or None
        Factors that share a scale; None for the first block length offered.
    floor : int or None
        Smallest exponent that terms are aligned to, -140 to 0; None for that of the numerics. A
        zero term has no exponent.
    zero_groups : bool
        Whether a group whose sum is zero has the exponent of its scales nevertheless (grouped kinds
        only): in MMA-Sim's published model. In its later model a zero group has no exponent.

    """

    terms: int
    numerics: str
    a: str = "fp16"
    b: str = "fp16"
    addend: str = "fp32"
    result: str = "fp32"
    scale: str | None = None
    block: int | None = None
    floor: int | None = None
    zero_groups: bool = True

    def __post_init__(self):
        require_choice("numerics", self.numerics, NUMERICS)
        require_choice("terms", self.terms, (2, 4, 8, 16, 32, 64))
        if self.floor is not None:
            require_integer("floor", self.floor, -140, 0)
        if self.block is not None and self.scale is None:
            raise ValueError(f"block must be None without scales, not {self.block}")
        if self.find() is None:
            offers = "; ".join(offer.describe() for offer in NUMERICS[self.numerics])
            scale = f" with scales {self.scale}" if self.scale else ""
            scale += f" per {self.block}" if self.block is not None else ""
            raise ValueError(
                f"formats must be among those of {self.numerics}, {offers}, not "
                f"{self.a} and {self.b}{scale} ({self.addend} to {self.result})"
            )
        if self.terms < self.offer.block:
            raise ValueError(
                f"terms must be at least a block of {self.scale}, {self.offer.block}, "
                f"not {self.terms}"
            )

    @classmethod
    def of(cls, tensor: TensorNumerics) -> "DotProductConfig":
        """Return the dot product of one rounding step of a tensor instruction."""
        return cls(terms=tensor.terms, numerics=tensor.numerics, a=tensor.operand, b=tensor.operand)

    def find(self) -> Offer | None:
        """Return the offer that matches these formats, None if there is none."""
        for offer in NUMERICS[self.numerics]:
            if (
                {self.a, self.b} <= set(offer.formats)
                and self.scale == offer.scale
                and self.block in (None, offer.block)
                and (self.addend, self.result) in offer.accumulators
            ):
                return offer
        return None

    @property
    def offer(self) -> Offer:
        """The entry of the numerics for these formats."""
        offer = self.find()
        assert offer is not None
        return offer

    @property
    def fused(self) -> FusedSumNumerics:
        """Parameters of the fused sums; trees have none."""
        assert self.offer.fused is not None
        return self.offer.fused

    @property
    def is_tree(self) -> bool:
        """Whether the sum is a tree of ordinary additions."""
        return self.numerics in TREES

    @property
    def alignment_floor(self) -> int:
        """Smallest exponent that terms are aligned to."""
        if self.floor is not None:
            return self.floor
        return self.fused.half_floor if self.result == "fp16" else FLOOR

    @property
    def chunks(self) -> int:
        """Number of fused sums."""
        return self.terms // self.chunk_terms

    @property
    def chunk_terms(self) -> int:
        """Terms of one fused sum."""
        return min(max(self.terms // self.fused.alternating, PAIR), self.fused.chunk)

    @property
    def chunks_per_addend(self) -> int:
        """Chained fused sums whose total is added to the addend; all if the addend is a term."""
        if self.fused.separate_addend:
            return min(self.fused.alternating, self.chunks)
        return self.chunks

    @property
    def chunk_columns(self) -> tuple[tuple[int, ...], ...]:
        """Products of each fused sum: adjacent ones, or alternate pairs."""
        alternating = self.fused.alternating
        length = self.chunk_terms * alternating
        return tuple(
            tuple(
                chunk // alternating * length + k
                for k in range(length)
                if k // PAIR % alternating == chunk % alternating
            )
            for chunk in range(self.chunks)
        )

    @property
    def chunk_configs(self) -> tuple["DotProductConfig", ...]:
        """Configs of the fused sums in chain order."""
        first = replace(self, terms=self.chunk_terms)
        return first, *[replace(first, addend=self.result)] * (self.chunks - 1)

    @property
    def scales(self) -> int:
        """Scales of each factor, 0 if there are none."""
        return self.terms // self.offer.block if self.scale else 0

    @property
    def a_format(self) -> FloatFormat:
        """Format of the factors `a`."""
        return _format(self.a)

    @property
    def b_format(self) -> FloatFormat:
        """Format of the factors `b`."""
        return _format(self.b)

    @property
    def addend_format(self) -> FloatFormat:
        """Format of the addend."""
        return _format(self.addend)

    @property
    def result_format(self) -> FloatFormat:
        """Format of the result."""
        return _format(self.result)

    @property
    def scale_format(self) -> FloatFormat | None:
        """Format of the scales, None if there are none."""
        return _format(self.scale) if self.scale else None


def _format(name: str) -> FloatFormat:
    form = FORMATS[name]
    assert isinstance(form, FloatFormat)
    return form
