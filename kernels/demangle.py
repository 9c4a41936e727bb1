"""C++ names of symbols."""

from functools import cache

from pycxxfilt import itanium_demangle

__all__ = ["demangled"]


@cache
def demangled(symbol: str) -> str:
    """Return the C++ name of a function or variable; a symbol of another language as it is."""
    try:
        return itanium_demangle(symbol) or symbol
    except ValueError:
        return symbol
