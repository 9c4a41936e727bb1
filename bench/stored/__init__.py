"""Stored results: the files of `docs/records`, from which pages take their tables."""
