"""Operands: register banks, collectors, dispatch, writeback."""
