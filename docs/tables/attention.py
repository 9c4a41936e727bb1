"""Tables of attention.md."""

from .stored import Stored, cited, read, section, share

__all__ = ["SECTIONS", "utilisation"]


#: Options of runs without a mask and with a causal one.
MASKS = ("", " --causal")


def runs_of(mask: str) -> dict[str, Stored]:
    """Return the runs with an option of the mask by preset."""
    is_causal = bool(mask)
    runs = (run for run in read("attention") if ("--causal" in run.command) == is_causal)
    return {run.result["preset"]: run for run in runs}


def utilisation() -> dict[str, tuple[float, Stored]]:
    """Return MAC utilisation without a mask and its run by preset."""
    return {
        preset: (run.result["mac_utilization"], run) for preset, run in runs_of(MASKS[0]).items()
    }


def attention_cycles() -> str:
    """Return cycles and MAC utilisation of all designs, without and with a causal mask."""
    runs = [runs_of(mask) for mask in MASKS]
    rows = []
    for preset in runs[0]:
        own = [run[preset] for run in runs]
        cells = ((f"{x.result['cycles']:,}", share(x.result["mac_utilization"])) for x in own)
        rows.append([f"`{preset}`", *(text for pair in cells for text in pair), cited(own)])
    header = [
        *("machine", "cycles", "utilisation, %", "causal, cycles", "causal, utilisation, %"),
        "commit",
    ]
    examples = [next(iter(run.values())) for run in runs]
    return section(examples, header, rows, has_commits=True)


def attention_traffic() -> str:
    """Return bytes that all designs read from DRAM and write to it, without a mask."""
    runs = runs_of(MASKS[0])
    rows = (
        [
            f"`{preset}`",
            *(f"{traffic[key]:,}" for key in ("read_bytes", "written_bytes")),
            cited([run]),
        ]
        for preset, run in runs.items()
        for traffic in [run.result["memory"]["traffic"]["run"]]
    )
    header = ["machine", "bytes read", "bytes written", "commit"]
    return section(list(runs.values()), header, rows, has_commits=True, examples=1)


SECTIONS = (attention_cycles, attention_traffic)
