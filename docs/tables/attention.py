"""Tables of attention.md."""

from typing import Any

from .stored import Stored, read, section, share

__all__ = ["SECTIONS", "utilisation"]


def designs() -> tuple[Stored, dict[str, dict[str, Any]]]:
    """Return the run of all designs, and the results by preset."""
    (run,) = read("attention")
    return run, {each["preset"]: each["result"] for each in reversed(run.result["runs"])}


def utilisation() -> dict[str, float]:
    """Return MAC utilisation by preset."""
    return {preset: result["mac_utilization"] for preset, result in designs()[1].items()}


def attention_cycles() -> str:
    """Return cycles and MAC utilisation of all designs, without and with a causal mask."""
    run, plain = designs()
    (masked,) = read("causal")
    causal = {each["name"]: each["result"] for each in masked.result["machines"]}
    rows = (
        [
            f"`{preset}`",
            *(
                text
                for result in (plain[preset], causal[preset])
                for text in (f"{result['cycles']:,}", share(result["mac_utilization"]))
            ),
        ]
        for preset in causal
    )
    header = ["machine", "cycles", "utilisation, %", "causal, cycles", "causal, utilisation, %"]
    return section([run, masked], header, rows)


def attention_traffic() -> str:
    """Return bytes that all designs read from DRAM and write to it."""
    run, results = designs()
    rows = (
        [f"`{preset}`", *(f"{traffic[key]:,}" for key in ("read_bytes", "written_bytes"))]
        for preset, result in results.items()
        for traffic in [result["memory"]["traffic"]["run"]]
    )
    return section([run], ["machine", "bytes read", "bytes written"], rows)


def rescaling() -> str:
    """Return cycles and instructions of steps that rescale O, by the way they do it."""
    (run,) = read("rescale")
    ways: dict[str, dict[bool, dict]] = {}
    for each in run.result["runs"]:
        ways.setdefault(each["way"], {})[each["scores"]] = each
    rows = (
        [
            way,
            *(f"{own[with_scores]['cycles']:,}" for with_scores in (False, True)),
            f"{own[False]['instructions']['warp']:,}",
        ]
        for way, own in ways.items()
    )
    header = ["way", "cycles", "cycles with scores", "instructions without scores"]
    return section([run], header, rows)


SECTIONS = (rescaling, attention_cycles, attention_traffic)
