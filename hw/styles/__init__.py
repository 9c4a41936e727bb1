"""Styles: ways in which a multiplier gets its operands and keeps its results."""
