"""The state of a machine between two cycles, and whether another machine can take it."""

import dataclasses
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...hw.base.errors import UserError
from ...kernels.program import Program

__all__ = ["Snapshot", "plain", "program_digest", "require_like"]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Everything that a run goes on from.

    Attributes
    ----------
    identity : str
        Hash of design, harness and model: what `state` and `model` mean.
    machine : dict
        How the machine was made, as far as it tells on the run; plain values for JSON.
    cycle : int
        Of the run.
    facts : dict
        What Python knows of the run, for JSON.
    state : bytes
        Of the design and what surrounds it.
    model : bytes
        Of the instruction-set model in lockstep; nothing without.

    """

    identity: str
    machine: dict[str, Any]
    cycle: int
    facts: dict[str, Any]
    state: bytes
    model: bytes = b""


def require_like(what: str, saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise unless two mappings for JSON are equal, with the first value that is not."""
    for name, before, after in differences(saved, plain(now)):
        raise UserError(
            f"{what}: {name} must be {shown(before)} as it was saved, not {shown(after)}"
        )


def plain(value: Any) -> Any:
    """Return a value as JSON gives it back."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(dataclasses.asdict(value))
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def program_digest(program: Program) -> str:
    """Return a hash of what is placed of a program."""
    state = hashlib.sha256(program.entry.to_bytes(4, "little"))
    for address, data in program.segments:
        state.update(address.to_bytes(4, "little"))
        state.update(data)
    return state.hexdigest()[:16]


def differences(saved: Mapping[str, Any], now: Mapping[str, Any], prefix: str = ""):
    """Yield name and both values wherever two mappings differ."""
    for name in dict.fromkeys([*saved, *now]):
        before, after = saved.get(name), now.get(name)
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from differences(before, after, f"{prefix}{name}.")
        elif before != after:
            yield f"{prefix}{name}", before, after


def shown(value: Any) -> str:
    """Return a value for a sentence."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
