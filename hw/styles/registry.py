"""Tables of styles, by the class of their configs: of matrix units and of tensor units."""

from ..config import SystolicConfig, TensorUnitConfig, UnitConfig
from .cluster_array.style import CLUSTER_ARRAY
from .register_fed.config import RegisterFedConfig
from .register_fed.style import REGISTER_FED
from .shared_fed.config import SharedFedConfig
from .shared_fed.style import SHARED_FED
from .style import MatrixStyle, TensorStyle

__all__ = ["MATRIX_STYLES", "TENSOR_STYLES", "matrix_style_of", "tensor_style_of"]

MATRIX_STYLES: dict[type[UnitConfig], MatrixStyle] = {
    SystolicConfig: CLUSTER_ARRAY,
}
TENSOR_STYLES: dict[type[TensorUnitConfig], TensorStyle] = {
    RegisterFedConfig: REGISTER_FED,
    SharedFedConfig: SHARED_FED,
}


def matrix_style_of(unit: UnitConfig) -> MatrixStyle:
    """Return the kind of a matrix unit."""
    return MATRIX_STYLES[type(unit)]


def tensor_style_of(unit: TensorUnitConfig) -> TensorStyle:
    """Return the style of a tensor unit."""
    return TENSOR_STYLES[type(unit)]
