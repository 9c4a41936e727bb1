"""Small programs whose cost the definition of the core tells, and what they cost."""
