"""Energy of Virgo in relation to other designs, under the restrictions of the published machine."""

from collections.abc import Callable, Iterator, Sequence

from ...sim.report.tables import percent
from .published import DESIGNS, ENERGY_RATIOS
from .restrictions import RESTRICTIONS, Restriction, combined

__all__ = ["HEADS", "TITLE", "Energy", "energy_lines", "energy_ratios"]

TITLE = "energy of gemm, Virgo in relation to other designs, as published (figure 8)"
VIRGO = "virgo"
OTHERS = [design for design in DESIGNS if design != VIRGO]
#: Heads of the columns.
HEADS = [f"to {DESIGNS[design]}" for design in OTHERS]
#: Energy of a product per multiply-add, of a design under restrictions; None without a run.
Energy = Callable[[str, Sequence[Restriction]], float | None]


def energy_ratios(energy: Energy, count: int) -> dict[str, float | None]:
    """Return Virgo's energy in relation to that of each design, each under its first restrictions.

    Parameters
    ----------
    energy : callable
        Energy of a design under restrictions.
    count : int
        Restrictions that apply, of those in `RESTRICTIONS`.

    """
    own = energy(VIRGO, combined(VIRGO, count))
    others = {design: energy(design, combined(design, count)) for design in OTHERS}
    return {
        design: None if own is None or other is None else own / other
        for design, other in others.items()
    }


def energy_lines(energy: Energy, ours: str, published: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the label and the cells of each line; `ours` and `published` are labels."""
    for count, label in enumerate((ours, *(each.label for each in RESTRICTIONS))):
        yield label, [shown(value) for value in energy_ratios(energy, count).values()]
    yield published, [shown(ENERGY_RATIOS.get(design)) for design in OTHERS]


def shown(ratio: float | None) -> str:
    """Return a ratio as text; a dash for none."""
    return "-" if ratio is None else percent(ratio)
