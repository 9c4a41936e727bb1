"""Diagnostics: reports of faults, hangs and mismatches, with source lines."""
