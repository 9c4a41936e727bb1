"""Trial table of ports: an operation of the special functions with register groups."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from spica.hw.isa.operations import PORTS, Port, RegisterGroup, RegisterGroups, SpecialOperation
from support.core.issue_entry import pack_entry

__all__ = ["SIZE", "trial_groups"]

#: Registers of each group.
SIZE = 4


@contextmanager
def trial_groups(destination: RegisterGroup | None = None) -> Iterator[None]:
    """Give ``fcos.s`` three source groups: encoded, fixed, and selected by rd.

    Its result is one register unless `destination` is a group.
    """
    sources = {
        0: RegisterGroup(),
        1: RegisterGroup(first=40),
        2: RegisterGroup(first=48, is_selected=True),
    }
    groups = RegisterGroups(size=SIZE, sources=sources, destination=destination)
    info = replace(PORTS[Port.SPECIAL], operands=3, groups={SpecialOperation.COS: groups})
    pack_entry.cache_clear()  # layouts depend on the table
    try:
        with patch.dict(PORTS, {Port.SPECIAL: info}):
            yield
    finally:
        pack_entry.cache_clear()
