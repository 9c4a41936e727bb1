"""``spica sweep``: command, charts, tables on the terminal."""
