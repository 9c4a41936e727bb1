"""Independent implementations of arithmetic, as references for the golden models."""

import importlib
from types import ModuleType

from spica.base.errors import UserError

__all__ = ["require"]


def require(name: str) -> ModuleType:
    """Import a module that only oracles need; if it is missing, raise with an install hint."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name != package:
            raise
        raise UserError(f"{package} is not installed: pip install 'spica[dev]'") from None
