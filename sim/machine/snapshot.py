"""Snapshot of a machine between two cycles, and its compatibility with another machine."""

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...base.errors import UserError
from ...hw.machine.fields import plain_config
from ...kernels.program import Program

__all__ = ["Snapshot", "plain", "program_digest", "require_like"]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Complete state of a run between two cycles.

    Attributes
    ----------
    identity : str
        Hash of design, harness and model: the format of `state` and `model`.
    machine : dict
        Parameters of the machine that affect a run; plain values for JSON.
    cycle : int
        Cycle of the run.
    facts : dict
        State of the run in Python, for JSON.
    state : bytes
        State of the design and its harness.
    model : bytes
        State of the instruction-set model in lockstep; empty without lockstep.

    """

    identity: str
    machine: dict[str, Any]
    cycle: int
    facts: dict[str, Any]
    state: bytes
    model: bytes = b""


def require_like(what: str, saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise `UserError` with the first difference, unless two mappings for JSON are equal."""
    for name, before, after in differences(saved, plain(now)):
        raise UserError(
            f"{what}: {name} must be {shown(before)} as in the checkpoint, not {shown(after)}"
        )


def plain(value: Any) -> Any:
    """Return a value as it reads back from JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(plain_config(value))
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return value


def program_digest(program: Program) -> str:
    """Return a hash of a program's entry and segments."""
    state = hashlib.sha256(program.entry.to_bytes(4, "little"))
    for address, data in program.segments:
        state.update(address.to_bytes(4, "little"))
        state.update(data)
    return state.hexdigest()[:16]


def differences(saved: Mapping[str, Any], now: Mapping[str, Any], prefix: str = ""):
    """Yield name and both values of each difference of two mappings."""
    for name in dict.fromkeys([*saved, *now]):
        before, after = saved.get(name), now.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from differences(before, after, f"{prefix}{name}.")
        elif before != after:
            yield f"{prefix}{name}", before, after


def shown(value: Any) -> str:
    """Return a value as text for a message, truncated to 60 characters."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
