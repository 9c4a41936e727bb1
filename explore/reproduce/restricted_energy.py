"""Energy and power of Virgo in relation to other designs, under the published restrictions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from ...sim.report.tables import percent
from .published import DESIGNS, ENERGY_RATIOS, POWER_RATIOS
from .restrictions import RESTRICTIONS, Restriction, combined

__all__ = ["HEADS", "TITLES", "Cost", "CostOf", "energy_lines", "energy_report"]

#: Titles of the tables by whether the units are taken to need equal energies. The publication calls
#: the energies of the matrix units similar (section 6.1.3).
TITLES = {
    False: "energy and power of gemm, Virgo in relation to other designs, as published (figure 8)",
    True: "energy and power of gemm if Virgo's matrix unit took the energy of the tensor units",
}
VIRGO = "virgo"
OTHERS = [design for design in DESIGNS if design != VIRGO]
#: Heads of the columns.
HEADS = [f"{what} to {DESIGNS[design]}" for design in OTHERS for what in ("energy", "power")]


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Costs of a run per multiply-add.

    Parameters
    ----------
    energy, units : float
        Energy in pJ, of all and of the matrix or tensor units.
    cycles : float
        Cycles.

    """

    energy: float
    units: float
    cycles: float


#: Cost of a product on a design under restrictions; None without a run.
CostOf = Callable[[str, Sequence[Restriction]], Cost | None]


@dataclass(frozen=True, kw_only=True)
class Ratios:
    """Energy and power of Virgo in relation to another design; None without a run."""

    energy: float | None = None
    power: float | None = None


def ratios(cost: CostOf, count: int, *, is_equal: bool) -> dict[str, Ratios]:
    """Return Virgo's energy and power in relation to those of each design.

    Parameters
    ----------
    cost : callable
        Cost of a design under restrictions.
    count : int
        Restrictions that apply, of those in `RESTRICTIONS`; each design has its own of them.
    is_equal : bool
        Whether Virgo's matrix unit is taken to need the energy of the other design's units.

    """
    own = cost(VIRGO, combined(VIRGO, count))
    return {
        design: ratios_of(own, cost(design, combined(design, count)), is_equal) for design in OTHERS
    }


def ratios_of(own: Cost | None, other: Cost | None, is_equal: bool) -> Ratios:
    """Return the ratios of two costs."""
    if own is None or other is None:
        return Ratios()
    energy = own.energy + (other.units - own.units if is_equal else 0)
    ratio = energy / other.energy
    return Ratios(energy=ratio, power=ratio * other.cycles / own.cycles)


def energy_lines(
    cost: CostOf, ours: str, published: str, *, is_equal: bool
) -> Iterator[tuple[str, list[str]]]:
    """Yield the label and the cells of each line; `ours` and `published` are labels."""
    for count, label in enumerate((ours, *(restriction.label for restriction in RESTRICTIONS))):
        pairs = ratios(cost, count, is_equal=is_equal).values()
        yield label, [shown(share) for pair in pairs for share in (pair.energy, pair.power)]
    yield (
        published,
        [shown(of.get(design)) for design in OTHERS for of in (ENERGY_RATIOS, POWER_RATIOS)],
    )


def energy_report(cost: CostOf) -> Iterator[dict]:
    """Yield the ratios for JSON, with more and more restrictions."""
    for count in range(len(RESTRICTIONS) + 1):
        yield {"restrictions": [restriction.name for restriction in RESTRICTIONS[:count]]} | {
            name: {
                design: asdict(pair)
                for design, pair in ratios(cost, count, is_equal=is_equal).items()
            }
            for name, is_equal in (("virgo_to", False), ("virgo_with_equal_units_to", True))
        }


def shown(ratio: float | None) -> str:
    """Return a ratio as text; a dash for none."""
    return "-" if ratio is None else percent(ratio)
