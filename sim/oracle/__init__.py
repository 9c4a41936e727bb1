"""Independent implementations of arithmetic, to check golden models against."""

import importlib
from types import ModuleType

from ...hw.errors import UserError

__all__ = ["require"]


def require(name: str) -> ModuleType:
    """Return a module that only oracles need; say how to install it where it is missing."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        if error.name != package:
            raise
        raise UserError(f"{package} is not installed: pip install 'spica[dev]'") from None
