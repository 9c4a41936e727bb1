"""Colours of charts and timelines, safe for colour-blind readers."""

from ...hw.core.issue.stall_reason import StallReason

__all__ = ["COLOURS", "FUNCTION_COLOURS", "PALETTE", "SLOT_COLOURS", "STALLS"]

#: Colours of machines, functions and other things side by side, by Okabe and Ito, grey the last.
PALETTE = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"),
    "#999999",
)
#: Colours of functions: those of the palette without its grey, and three by Tol.
FUNCTION_COLOURS = (*PALETTE[:-1], "#332288", "#882255", "#44aa99")
#: Colours of stalls, from yellow to dark red: no activity has one of them.
STALLS = (
    *("#ffe38a", "#fec44f", "#fd9f3c", "#fc7a2a", "#f4511e", "#d7301f", "#b3001b"),
    *("#800026", "#4d0016"),
)
#: Colours of a timeline by meaning.
COLOURS = {
    "read": "#0072b2",
    "write": "#56b4e9",
    "compute": "#009e73",
    "add": "#9fd9c3",
    "drain": "#cc79a7",
    "busy": "#9aa5b1",
    "read_miss": "#5e3c99",
    "write_miss": "#b2abd2",
    "done": "#555b64",
    "idle": "#d4d8de",
    "held": STALLS[5],
    "wait_a": STALLS[2],
    "wait_weights": STALLS[0],
    "wait_drain": STALLS[7],
    "wait_revisit": STALLS[3],
}
#: Colours of issue slots by `StallReason`.
SLOT_COLOURS = {
    StallReason.NONE: COLOURS["compute"],
    StallReason.COLLECTORS_FULL: STALLS[0],
    StallReason.DUAL_ISSUE: STALLS[1],
    StallReason.INACTIVE_SET: STALLS[8],
    StallReason.SCOREBOARD: STALLS[3],
    StallReason.MEMORY: STALLS[6],
    StallReason.DRAIN: STALLS[2],
    StallReason.BLOCKED: STALLS[4],
    StallReason.NO_INSTRUCTION: STALLS[7],
    StallReason.BARRIER: STALLS[5],
    StallReason.IDLE: COLOURS["idle"],
}
