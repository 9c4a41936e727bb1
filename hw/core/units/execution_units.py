"""Execution units of a core by port, but for control and tensor units."""

from amaranth.lib import wiring

from ...isa.operations import Port
from .divide.divide_unit import DivideUnit
from .fp32.fp32_unit import Fp32Unit
from .integer.integer_unit import IntegerUnit
from .lsu.load_store import LoadStoreUnit
from .sfu.special_unit import SpecialUnit

__all__ = ["UNITS"]

#: Component of each port, built from a `PipelineConfig`: operations arrive on ``i``, results leave
#: on ``o``. `PORTS` has the properties of the port. With credits the unit has ``released``, and
#: one that `announces` its results has ``arriving``. Control is part of the core's warp control,
#: and the tensor unit, if any, is that of its style.
UNITS: dict[Port, type[wiring.Component]] = {
    Port.INT: IntegerUnit,
    Port.FP32: Fp32Unit,
    Port.DIVIDE: DivideUnit,
    Port.SPECIAL: SpecialUnit,
    Port.MEMORY: LoadStoreUnit,
}
