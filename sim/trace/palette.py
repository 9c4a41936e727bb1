"""Colours of charts and timelines, safe for colour-blind readers."""

__all__ = ["PALETTE"]

#: Colours of machines, functions and other things side by side, by Okabe and Ito, grey the last.
PALETTE = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"),
    "#999999",
)
