"""Component of Spica: declares its ports once, in the signature."""

from typing import TYPE_CHECKING, Any

from amaranth.lib import wiring

__all__ = ["Component"]


class Component(wiring.Component):
    """A component whose ports are declared by `__init__` alone, in the signature."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a port: an attribute that only the signature declares."""
