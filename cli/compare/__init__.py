"""``spica compare``: command, table on the terminal."""
