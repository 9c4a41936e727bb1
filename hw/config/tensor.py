"""Base of the configs of tensor units, and the numerics of their products."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Self

from ..isa.operations import Port, TensorOperation
from .checks import require_choice
from .formats import FORMATS
from .memory import SharedMemoryConfig
from .numerics import NUMERICS, TREES, Offer
from .parts import BOUND
from .ranges import Choices, require_ranges

__all__ = [
    "FORMAT_NAMES",
    "TENSOR_NUMERICS",
    "TensorNumerics",
    "TensorUnitConfig",
]

#: Operand formats of tensor instructions; scaled and packed 4-bit and 6-bit formats have none.
FORMAT_NAMES = ("fp16", "bf16", "tf32", "fp32", "fp8_e4m3", "fp8_e5m2")
#: Products per rounding step of the trees, whose numerics do not fix them, by operand format.
TREE_TERMS = {"virgo_hmma": {"fp16": 4}, "fp32_rne": {"fp32": 2}}


def _takes_addend(offer: Offer) -> bool:
    """Return whether the accumulator is a term of each sum, as chains of rounding steps need."""
    return offer.fused is None or not offer.fused.separate_addend


def _offers(numerics: str) -> dict[str, Offer]:
    """Return the offer for each operand format of tensor instructions with these numerics."""
    offers: dict[str, Offer] = {}
    for offer in NUMERICS[numerics]:
        for name in offer.formats:
            is_known = name in TREE_TERMS.get(numerics, FORMAT_NAMES) and name in FORMAT_NAMES
            is_plain = offer.scale is None and ("fp32", "fp32") in offer.accumulators
            if is_known and is_plain and _takes_addend(offer):
                offers.setdefault(name, offer)
    return offers


#: Operand formats of tensor instructions by their numerics.
TENSOR_NUMERICS = {name: tuple(_offers(name)) for name in NUMERICS if _offers(name)}


@dataclass(frozen=True, kw_only=True)
class TensorNumerics:
    """Numerics of tensor instructions, with FP32 accumulators.

    Operands are words of 32 bits with one or several numbers. A rounding step adds the products of
    a few words to the accumulator. The steps of a result follow each other with ascending k.

    Parameters
    ----------
    numerics : str
        A key of `TENSOR_NUMERICS`.
    operand : str
        Format of A and B.

    """

    numerics: Annotated[str, Choices(tuple(TENSOR_NUMERICS))] = "virgo_hmma"
    operand: Annotated[str, Choices(FORMAT_NAMES)] = "fp16"

    def __post_init__(self):
        require_ranges(self)
        what = f"operand of tensor instructions with {self.numerics}"
        require_choice(what, self.operand, TENSOR_NUMERICS[self.numerics])

    @property
    def operand_width(self) -> int:
        """Bits of a number in an operand word; TF32 occupies the upper bits of a whole word."""
        return 32 if self.operand == "tf32" else FORMATS[self.operand].width

    @property
    def terms(self) -> int:
        """Products of one rounding step."""
        if self.numerics in TREES:
            return TREE_TERMS[self.numerics][self.operand]
        fused = _offers(self.numerics)[self.operand].fused
        assert fused is not None
        return fused.chunk

    @property
    def step_words(self) -> int:
        """Words of A, and of B, of one rounding step: 2, 4 or 8."""
        return self.terms * self.operand_width // 32


@dataclass(frozen=True, kw_only=True)
class TensorUnitConfig(TensorNumerics, ABC):
    """A tensor unit of any style: the properties that its core, its cluster and its kernels use.

    The class of a config selects the style of the unit in the tables of styles: `TENSOR_STYLES` of
    ``hw.styles.registry``, and those of kernels and models.

    Parameters
    ----------
    **numerics
        Fields of `TensorNumerics`.
    threads : int
        Threads of a warp; a core sets its own.

    """

    #: Name in settings and results, that of its first instruction.
    name: ClassVar[str]
    #: Operations of its instructions.
    operations: ClassVar[tuple[TensorOperation, ...]]
    #: Whether a warp continues while its products are computed, and awaits them by an instruction.
    is_asynchronous: ClassVar[bool] = False

    threads: int = field(default=8, metadata=BOUND)

    @classmethod
    def of(cls, tensor: "TensorUnitConfig | None") -> Self:
        """Return the tensor unit of a core or a cluster, which must have one of this style."""
        if not isinstance(tensor, cls):
            raise ValueError(f"tensor must be a {cls.__name__}, not {tensor!r}")
        return tensor

    @classmethod
    def executes(cls, port: Port, operation: int) -> bool:
        """Return whether cores with this unit have an operation that depends on the unit."""
        return operation in cls.operations if port is Port.TENSOR else cls.is_asynchronous

    @property
    @abstractmethod
    def credits(self) -> int:
        """Instructions that the unit has room for from their issue on."""

    @property
    def reads(self) -> dict[str, int]:
        """Bytes of a read at each port into shared memory, by the name of the port."""
        return {}

    def require_memory(self, shared: SharedMemoryConfig) -> None:
        """Raise `UserError` unless the unit can read its operands from this shared memory."""

    @property
    @abstractmethod
    def macs(self) -> int:
        """Peak multiply-adds per cycle."""

    @property
    @abstractmethod
    def depth(self) -> int:
        """Inner dimension of the product of one instruction."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """Cycles of one instruction."""
