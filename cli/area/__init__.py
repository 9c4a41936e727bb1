"""Command ``spica area``: area, depth and memories of presets."""
