"""Check of a run in words: agreement of its buffers, or everything that is wrong."""

from collections.abc import Iterator, Mapping
from typing import Any

from ...kernels.header import EXIT_CODES
from .result import PASS

__all__ = ["check_lines", "infinity_remarks", "lost_elements"]


def check_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the findings of the check."""
    check = result["check"]
    is_program = result["program"] is not None
    if is_program:
        yield f"Exit code: {exit_text(check['exit_code'])}"
        if check["device_errors"]:
            yield f"Error: {check['device_errors']}"
    elif check["verdict"] == PASS:
        yield f"Check: {agreement(check['buffers'])}"
    else:
        yield "Check:"
        yield from fault_lines(check)
    # Warnings decide only if nothing else does.
    passed = check["verdict"] == PASS or check["exit_code"] or check["device_errors"]
    for warning in check["code_warnings"] if is_program or check["verdict"] == PASS else ():
        yield f"{'Warning' if passed else 'Error'}: {warning}"
    if check["ignored_races"]:
        yield (
            f"Warning: {check['ignored_races']:,} loads missed a store for want of a fence "
            "(--races ignore)"
        )


def exit_text(code: int) -> str:
    """Return an exit code with its meaning."""
    meanings = dict(EXIT_CODES.values())
    return f"{code}, {meanings[code]}" if code in meanings else f"{code}"


def fault_lines(check: Mapping[str, Any]) -> Iterator[str]:
    """Yield everything that makes a kernel fail."""
    is_correct = True
    for name, buffer in check["buffers"].items():
        for fault in buffer_faults(name, buffer):
            is_correct = False
            yield f"  {fault}"
        for example in buffer["examples"]:
            yield f"    {example_text(name, example)}"
    if check["exit_code"]:
        yield f"  the program ended with exit code {exit_text(check['exit_code'])}"
    if check["device_errors"]:
        yield f"  {check['device_errors']}"
    decides = is_correct and not (check["exit_code"] or check["device_errors"])
    if check["code_warnings"] and not decides:
        yield "  warnings about the code"
    elif check["code_warnings"]:
        values = agreement(check["buffers"])
        yield f"  the compiled code breaks the rules (--allow-spills accepts it); {values}"
    for warning in check["code_warnings"]:
        yield f"    {warning}"


def buffer_faults(name: str, buffer: Mapping[str, Any]) -> Iterator[str]:
    """Yield everything that is wrong in a buffer."""
    elements = f"{buffer['elements']:,} values of {name}"
    if not buffer["is_result"]:
        if buffer["wrong"]:
            yield f"{buffer['wrong']:,} of {elements}, which is only read, were changed"
        return
    if buffer["mismatches"]:
        yield f"{buffer['mismatches']:,} of {elements} differ from the golden model"
    left = lost_elements(buffer)
    if left:
        yield (
            f"{left:,} of {elements} left the range of the format: an intermediate result "
            "overflowed; scale the operands, or choose a machine with wider numerics"
        )
    if outside := buffer["outside_bound"] - left:
        yield f"{outside:,} of {elements} lie outside the float64 bound"
    if buffer["guard_bytes_changed"]:
        yield f"{buffer['guard_bytes_changed']:,} bytes around {name} were changed"


def lost_elements(buffer: Mapping[str, Any]) -> int:
    """Return how many elements are wrong as they left the range of the format."""
    return 0 if buffer["permits_overflow"] else buffer["left_range"]


def example_text(name: str, example: Mapping[str, Any]) -> str:
    """Return one wrong element in words."""
    index = ", ".join(map(str, example["index"]))
    expected, got = (number_text(example[key], 9) for key in ("expected", "got"))
    if example["expected_bits"]:
        expected, got = f"{expected} ({example['expected_bits']})", f"{got} ({example['got_bits']})"
    bound = f" within {number_text(example['bound'], 3)}" if example["bound"] else ""
    return f"{name}[{index}]: expected {expected}{bound}, got {got}"


def number_text(number: float | str, digits: int) -> str:
    """Return a number with some digits; infinities and NaN are text already."""
    return number if isinstance(number, str) else f"{number:.{digits}g}"


def agreement(buffers: Mapping[str, Mapping[str, Any]]) -> str:
    """Return how closely the results agree with the expected values."""
    results = {name: buffer for name, buffer in buffers.items() if buffer["is_result"]}
    parts = [f"{name} {buffer['elements']:,} values" for name, buffer in results.items()]
    unchanged = len(buffers) - len(results)
    others = (
        f"; {unchanged} input buffer{'s' if unchanged != 1 else ''} unchanged" if unchanged else ""
    )
    if not results:
        return f"no buffer has expected contents{others}"
    infinite = "".join(map("; {}".format, infinity_remarks(results)))
    return f"{', '.join(parts)}, {closeness(results.values())}{infinite}{others}"


def infinity_remarks(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield how many correct results left the range of the format, and for which reason."""
    for name, buffer in results.items():
        if rounded := buffer["rounded_to_infinity"]:
            yield f"{values(rounded)} of {name} left the range of the format, as in float64"
        if buffer["permits_overflow"] and (left := buffer["left_range"]):
            yield (
                f"{values(left)} of {name} left the range of the format, as extreme operands "
                "provoke"
            )


def values(count: int) -> str:
    """Return a number of values in words."""
    return f"{count:,} value{'s' if count != 1 else ''}"


def closeness(results) -> str:
    """Return the largest distance of results from float64, and whether they are bit-exact."""
    results = list(results)
    largest = max((buffer["max_abs_error"] for buffer in results), default=0.0)
    shares = [b["max_bound_share"] for b in results if b["max_bound_share"] is not None]
    words = ["bit-exact"] if results and all(buffer["is_exact"] for buffer in results) else []
    if largest:
        share = f" ({100 * max(shares):.0f} % of the bound)" if shares else ""
        words.append(f"largest error {largest:.3g}{share}")
    return ", ".join(words) or "exact"
