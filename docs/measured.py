"""Write the tables of measured figures from the results in `docs/records`; ``make docs`` runs it.

``make results`` takes these results again.
"""

from collections.abc import Callable
from pathlib import Path

import pages
from tables import attention, benchmarks, comparing, energy, readme

ROOT = Path(__file__).parents[1]
PAGES: dict[str, tuple[Callable[[], str], ...]] = {
    "README.md": readme.SECTIONS,
    "docs/benchmarks.md": benchmarks.SECTIONS,
    "docs/comparing.md": comparing.SECTIONS,
    "docs/attention.md": attention.SECTIONS,
    "docs/energy.md": energy.SECTIONS,
}


def updated(page: str) -> str:
    """Return a page with the tables of the stored results."""
    return pages.updated((ROOT / page).read_text(), PAGES[page])


if __name__ == "__main__":
    for page in PAGES:
        (ROOT / page).write_text(updated(page))
