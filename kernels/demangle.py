"""Names of symbols as the source has them: of C++, and of parallel blocks."""

import re
from functools import cache

from pycxxfilt import itanium_demangle

__all__ = ["BLOCK", "demangled"]

#: Beginning of the name of a block, before the name of its function.
BLOCK = "block of "
#: Functions that compilers make of parallel blocks, with the function around the block: in C, and
#: in C++ after demangling.
BLOCKS = (
    re.compile(r"__(\w+?)_block_invoke(?:_\d+)?(?:\.\d+)?"),
    re.compile(r"void spica_enter_(?:alone_)?<(.+)::(?:\$_\d+|'lambda\d*'\(.*\)[a-z ]*)>\(.*\)"),
)


@cache
def demangled(symbol: str) -> str:
    """Return the name of a function or variable in the source."""
    name = symbol
    if symbol.startswith("_Z"):  # `f` alone would be the type float
        try:
            name = itanium_demangle(symbol) or symbol
        except ValueError:
            name = symbol
    for block in BLOCKS:
        if match := block.fullmatch(name):
            return BLOCK + match[1]
    return name
