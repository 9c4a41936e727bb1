"""Errors and the build cache: below everything else."""
