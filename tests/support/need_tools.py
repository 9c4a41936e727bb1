"""Tools that a test needs and that pip does not install."""

import os
import shutil

import pytest

__all__ = ["need_icarus"]


def need_icarus():
    """Skip the test, in CI fail, if there is no Icarus Verilog."""
    if shutil.which("iverilog") is None:
        reason = "missing: iverilog (apt-get install iverilog)"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
