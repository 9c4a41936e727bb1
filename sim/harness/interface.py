"""Interface of the C++ harness for Python."""

from pathlib import Path

from ...base.native_interface import NativeInterface

__all__ = ["HARNESS", "NATIVE", "SHARED_HEADERS"]

NATIVE = Path(__file__).parents[1] / "native"
#: Headers that the harness shares with the separate library of the instruction-set model.
SHARED_HEADERS = tuple(
    Path(__file__).parents[1] / "iss" / "native" / name for name in ("archive.hpp", "retired.hpp")
)
#: Structures, constants and functions of the harness and of the models around it.
HARNESS = NativeInterface(NATIVE, *SHARED_HEADERS)
