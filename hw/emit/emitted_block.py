"""Emitted form of one distinct shared block."""

from collections.abc import Mapping
from dataclasses import dataclass

from .emission import VerilogModule
from .module_names import Fields
from .shared_block import SharedBlock
from .sram_macros import SramShape

__all__ = ["ClassNames", "EmittedBlock", "class_names", "refuse_clash"]

#: Module and qualified name of the class of a block, and of the class of its config.
ClassNames = tuple[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class EmittedBlock:
    """One distinct shared block.

    Parameters
    ----------
    module : VerilogModule
        Its Verilog; without a text if it was converted to RTLIL.
    classes : ClassNames
        Class of the block and class of its config.
    config : str
        Description of its config.
    fields : Fields
        Fields of its config.
    domains : tuple of str
        Clock domains in the order of their ports.
    macros : tuple of SramShape
        Shapes of the SRAM macro wrappers that it instantiates itself.
    instances : mapping of str to int
        Number of instances of each shared block and SRAM macro wrapper that it instantiates itself.

    """

    module: VerilogModule
    classes: ClassNames
    config: str
    fields: Fields
    domains: tuple[str, ...]
    macros: tuple[SramShape, ...]
    instances: Mapping[str, int]

    @property
    def name(self) -> str:
        """Name of its module."""
        return self.module.name

    @property
    def component(self) -> str:
        """Name of the class of the block."""
        return self.classes[0][1].rpartition(".")[2]


def class_names(block: SharedBlock) -> ClassNames:
    """Return module and qualified name of the class of a block, and of that of its config."""
    kinds = (type(block), type(block.config))
    first, second = ((kind.__module__, kind.__qualname__) for kind in kinds)
    return first, second


def refuse_clash(new: ClassNames, old: ClassNames, is_same: bool = True) -> None:
    """Raise if two blocks with one module name differ in their class or their config's class.

    `is_same` is False if classes differ that may have equal names.
    """
    for (module, name), (first, old_name) in zip(new, old, strict=True):
        if (module, name) != (first, old_name) or not is_same:
            raise ValueError(
                f"classes of shared blocks and configs must have distinct names, not "
                f"{name} in both {first} and {module}"
            )
