"""Issue: scheduler, scoreboard, issue slots."""
