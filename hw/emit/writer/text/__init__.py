"""Texts: expressions, statements, memories, comments, modules."""
