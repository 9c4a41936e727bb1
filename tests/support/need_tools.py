"""Tools that a test needs and that pip does not install."""

import os
import shutil

import pytest

__all__ = ["need_chromium", "need_icarus"]


def need_icarus():
    """Skip the test, in CI fail, if there is no Icarus Verilog."""
    need("iverilog")


def need_chromium() -> str:
    """Return the path of Chromium; skip the test, in CI fail, if there is none."""
    return need("chromium")


def need(tool: str) -> str:
    """Return the path of a tool whose package in Debian has its name."""
    path = shutil.which(tool)
    if path is None:
        reason = f"missing: {tool} (apt-get install {tool})"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return path
