"""Command ``spica fpga``: bitstream of a preset with a self-test."""
