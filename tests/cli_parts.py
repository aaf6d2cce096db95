"""What tests of the command line share."""

SCRIPT = {
    "scenes": ["synthetic/planes"],
    "matching_cost": {"use": "absolute_difference"},
    "aggregation": [{"use": "box", "size": 9}],
    "optimization": {"use": "winner_take_all"},
}


def one_line(result, *parts):
    """A mistake: exit status 2, nothing printed, one line on the error stream that holds all parts."""
    assert result.exit_code == 2, result.output
    [line] = result.stderr.splitlines()
    for part in parts:
        assert part in line, line
    assert "Traceback" not in result.output
