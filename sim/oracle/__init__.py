"""Independent implementations of arithmetic, to check golden models against."""
