"""Building blocks that any other block may use."""
