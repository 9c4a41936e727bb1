"""Tables of the published comparison of matrix units, measured again."""
