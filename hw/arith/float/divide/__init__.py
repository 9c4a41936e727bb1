"""Division and square root."""
