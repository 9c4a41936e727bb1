"""The SIMT core: fetch to writeback, a box of the block diagram in each file."""
