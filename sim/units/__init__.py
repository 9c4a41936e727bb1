"""Arithmetic units as the tests and the table of units see them."""
