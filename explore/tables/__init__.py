"""Tables of sweeps and comparisons: columns, figures, fronts; as CSV, JSON and Markdown."""
