"""Functions that threads enter from assembly: the registers that they would save for a caller.

Such a function begins with the statement ``SPICA_ENTRY_`` (``spica_parallel.h``). Its caller needs
no register and calls ``spica_leave`` next, but the compiler cannot infer that: every thread would
store up to 25 registers to its stack. `dropped_saves` takes these stores and loads out of the
compiler's assembly text, and a frame that holds nothing else. A function in another form than the
compiler usually produces is left alone: its saves cost time and nothing else.
"""

import re

__all__ = ["dropped_saves"]

MARK = "# spica entry"
FUNCTION = re.compile(r"^\S+:[ \t]*# @.*?^\.Lfunc_end\d+:", re.MULTILINE | re.DOTALL)
#: Text of inline assembly, which stays as it is.
INLINE = re.compile(r"^\s*#APP$.*?^\s*#NO_APP$", re.MULTILINE | re.DOTALL)
#: Frame of a function in the debug information: its size, and where a register is saved.
FRAME = re.compile(r"^\s*\.cfi_def_cfa_offset (\d+)$", re.MULTILINE)
SAVED = re.compile(r"^\s*\.cfi_offset (ra|f?s\d+), (-\d+)$", re.MULTILINE)
#: Use of the stack pointer, and the one that makes or ends a frame.
STACK = re.compile(r"\bsp\b")
MOVED = re.compile(r"^\s*addi\s+sp, sp, -?\d+$")
#: A call that takes the place of the return, after the end of the frame.
TAIL_CALL = re.compile(
    r"^\s*\.cfi_def_cfa_offset 0\n(?:\s*\.loc\s.*\n|\.Ltmp\d+:\n)*\s*(?:tail|jr)\s", re.MULTILINE
)
LINE = re.compile(
    r"^\s*(?:f?[sl]w\s+(?P<moved>ra|f?s\d+), (?P<place>\d+)\(sp\)\s+"
    r"# 4-byte Folded (?:Spill|Reload)"
    r"|\.cfi_(?:offset|restore) (?P<directive>ra|f?s\d+)\b.*"
    r"|(?P<ends>ret))$"
)


def dropped_saves(text: str) -> str:
    """Return assembly text in which functions that threads enter save no registers."""
    return FUNCTION.sub(lambda match: without_saves(match[0]), text) if MARK in text else text


def without_saves(function: str) -> str:
    """Return the text of a function; without saves if threads enter it."""
    compiled = INLINE.sub("", function)
    sizes = {int(size) for size in FRAME.findall(compiled)} - {0}
    # Offsets are from one stack pointer only if the frame is made in one step.
    if MARK not in function or len(sizes) != 1 or ".cfi_def_cfa " in compiled:
        return function
    if TAIL_CALL.search(compiled):
        return function  # the called function returns by `ra`
    (size,) = sizes
    places = {name: size + int(offset) for name, offset in SAVED.findall(compiled)}
    lines = [rewritten(line, places) for line in function.splitlines(keepends=True)]
    if all(MOVED.match(line) for line in lines if STACK.search(line)):
        lines = [line for line in lines if not MOVED.match(line) and not FRAME.match(line)]
    return "".join(lines)


def rewritten(line: str, places: dict[str, int]) -> str:
    """Return a line of a function that saves registers at these places; "" if it is not needed."""
    match = LINE.match(line)
    if match is None:
        return line
    if match["ends"]:
        # Without `ra` the function ends where its caller would continue.
        return line.replace("ret", "tail\tspica_leave") if "ra" in places else line
    name = match["moved"] or match["directive"]
    is_save = match["directive"] or places.get(name) == int(match["place"])
    return "" if name in places and is_save else line
