"""Cell libraries and tables of macros in the folder that ``SPICA_PDK`` names, for tests of them."""

import os
from pathlib import Path

import pytest

from spica.explore.energy.gates import GateOptions

__all__ = ["PDK", "SG13G2", "SG13G2_SRAM", "SKY130", "needs_pdk", "sg13g2_gates"]

PDK = Path(os.environ.get("SPICA_PDK", ""))
SG13G2 = PDK / "sg13g2_stdcell_typ_1p20V_25C.lib"
SG13G2_SRAM = PDK / "ihp_sg13g2_sram_energy.csv"
SKY130 = PDK / "sky130_fd_sc_hd__tt_025C_1v80.lib"
needs_pdk = pytest.mark.skipif(
    "SPICA_PDK" not in os.environ, reason="SPICA_PDK must name the folder of the cell libraries"
)


def sg13g2_gates(**options) -> GateOptions:
    """Return options of an energy from gates with cells and macros of SG13G2."""
    return GateOptions(liberty=SG13G2, sram_table=SG13G2_SRAM, **options)
