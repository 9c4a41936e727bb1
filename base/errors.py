"""Errors for users, each with a message of one sentence."""

from typing import Any

__all__ = ["MachineError", "UserError"]


class UserError(Exception):
    """The request is impossible as it stands; the message is one sentence for its author.

    Bad parameters, a missing tool, a directory that cannot be written.
    """


class MachineError(Exception):
    """The machine computed wrongly, faulted or hung; the message says what was seen.

    Attributes
    ----------
    result : dict or None
        Result of the run that stopped, for a result file.

    """

    result: dict[str, Any] | None = None
