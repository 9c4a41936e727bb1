"""Configuration of a dot-product unit."""

from dataclasses import dataclass, replace

from ...config.checks import require_choice, require_integer
from ...config.formats import FORMATS, FloatFormat
from .numerics import FLOOR, NUMERICS, TREES, FusedSumNumerics, Offer

__all__ = ["DotProductConfig"]


@dataclass(frozen=True, kw_only=True)
class DotProductConfig:
    """Length, formats and numerics of a dot product.

    Parameters
    ----------
    terms : int
        Products in the sum: 4, 8, 16 or 32.
    numerics : str
        A key of `NUMERICS`.
    a, b : str
        Formats of the factors.
    addend, result : str
        Formats of the addend and of the result.
    scale : str or None
        Format of the scales of blocks of factors; None for unscaled factors.
    floor : int
        Smallest exponent that terms are aligned to, -140 to 0; a zero term has no exponent.

    """

    terms: int
    numerics: str
    a: str = "fp16"
    b: str = "fp16"
    addend: str = "fp32"
    result: str = "fp32"
    scale: str | None = None
    floor: int = FLOOR

    def __post_init__(self):
        require_choice("numerics", self.numerics, NUMERICS)
        require_choice("terms", self.terms, (4, 8, 16, 32))
        require_integer("floor", self.floor, -140, 0)
        if self.find() is None:
            offers = "; ".join(offer.describe() for offer in NUMERICS[self.numerics])
            scale = f" with scales {self.scale}" if self.scale else ""
            raise ValueError(
                f"formats must be among those of {self.numerics}, {offers}, not "
                f"{self.a} and {self.b}{scale} ({self.addend} to {self.result})"
            )
        if self.terms < self.offer.block:
            raise ValueError(
                f"terms must be at least a block of {self.scale}, {self.offer.block}, "
                f"not {self.terms}"
            )

    def find(self) -> Offer | None:
        """Return the offer that matches these formats, None if there is none."""
        for offer in NUMERICS[self.numerics]:
            if (
                {self.a, self.b} <= set(offer.formats)
                and self.scale == offer.scale
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
    def chunks(self) -> int:
        """Number of fused sums in the chain."""
        return self.terms // self.chunk_terms

    @property
    def chunk_terms(self) -> int:
        """Terms of one fused sum."""
        return min(self.terms, self.fused.chunk)

    @property
    def chunk_configs(self) -> tuple["DotProductConfig", ...]:
        """Configs of the chained fused sums, each the addend of the next."""
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
