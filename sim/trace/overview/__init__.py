"""Overview of a run: activity of every engine."""
