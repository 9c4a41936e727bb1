"""Execution units of a core by port; control is part of the core's warp control."""

from amaranth.lib import wiring

from ...isa.operations import Port
from ...styles.register_fed.register_fed_unit import RegisterFedUnit
from .divide.divide_unit import DivideUnit
from .fp32.fp32_unit import Fp32Unit
from .integer.integer_unit import IntegerUnit
from .lsu.load_store import LoadStoreUnit
from .sfu.special_unit import SpecialUnit

__all__ = ["UNITS"]

#: Component of each port, built from a `PipelineConfig`: operations arrive on ``i``, results leave
#: on ``o``. `PORTS` has the properties of the port. With credits the unit has ``released``, and
#: one that `announces` its results has ``arriving``. A core with ``hgmma`` has a `SharedFedUnit`,
#: which also reads shared memory, in place of the `RegisterFedUnit`.
UNITS: dict[Port, type[wiring.Component]] = {
    Port.INT: IntegerUnit,
    Port.FP32: Fp32Unit,
    Port.DIVIDE: DivideUnit,
    Port.SPECIAL: SpecialUnit,
    Port.MEMORY: LoadStoreUnit,
    Port.TENSOR: RegisterFedUnit,
}
