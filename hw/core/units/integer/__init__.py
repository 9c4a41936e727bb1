"""Integer unit."""
