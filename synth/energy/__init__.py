"""Energy of mapped blocks from switching activity in a cell library."""
