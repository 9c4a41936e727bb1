"""The optional package pandas."""

from typing import Any

from ..base.errors import UserError

__all__ = ["required_pandas"]


def required_pandas(user: str) -> Any:
    """Return the package pandas; raise `UserError`, which names `user`, without it."""
    try:
        import pandas
    except ImportError:
        raise UserError(
            f"{user} needs pandas, which is not installed: run `pip install 'spica[sweep]'`"
        ) from None
    return pandas
