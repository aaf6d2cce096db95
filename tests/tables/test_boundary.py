"""From stored results to curves, boundaries and answers."""

import pytest

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.sweep import Result, ResultSet
from stereo_framework.tables.boundary import boundary


def _result(scene, method, size, sparsity, error, **others):
    values = {"sparsity_rate": sparsity, "error_rate": error}
    script = {"name": "any", "matching_cost": {"use": "absolute_difference"}, "scenes": [scene]}
    return Result(
        "",
        scene,
        method,
        {"size": size},
        {},
        "p",
        values,
        script=script,
        protocol_text="p: rules",
        **others,
    )


RESULTS = ResultSet(
    [
        _result("a", "one", 1, 0.5, 0.1),
        _result("a", "one", 2, 0.2, 0.3),
        _result("a", "two", 1, 0.0, 0.4),
        _result("b", "one", 1, 0.3, 0.1),
        _result("b", "one", 2, 0.0, 0.1),
        _result("b", "two", 1, 0.0, 0.2),
    ]
)


def test_efficiencies_and_improvements():
    found = boundary(RESULTS)
    efficiencies = found.efficiencies()
    # A single point gives (1 - SR - ER)^2.
    assert efficiencies["two"]["a"] == pytest.approx(0.36)
    assert efficiencies["two"]["b"] == pytest.approx(0.64)
    # Of the mean point (0, 0.3), not the mean of efficiencies.
    assert efficiencies["two"]["Expected"] == pytest.approx(0.49)
    gains = found.improvements()
    assert gains["one"]["two"] - gains["two"]["one"] == pytest.approx(
        efficiencies["one"]["Expected"] - efficiencies["two"]["Expected"]
    )


def test_the_boundary_keeps_where_its_points_come_from():
    points = boundary(RESULTS).feasible("a")
    assert [(p.method, p.parameters["size"]) for p in points] == [
        ("two", 1),
        ("one", 2),
        ("one", 1),
    ]
    assert [(p.method, p.rates) for p in boundary(RESULTS).feasible("b")] == [("one", (0.0, 0.1))]


def test_what_cannot_be_collected():
    with pytest.raises(
        DataError,
        match="no result has error_rate and sparsity_rate; run with the protocol kostliva2007",
    ):
        boundary(ResultSet([Result("", "a", "m", {}, {}, "p", {"rms_error_all": 1.0})]))
    other = Result(
        "",
        "a",
        "m",
        {},
        {},
        "q",
        {"error_rate": 0.0, "sparsity_rate": 0.0},
        protocol_text="q: other rules",
    )
    with pytest.raises(
        ParameterError,
        match="results of p and q do not belong together; .* as in --where 'protocol=p'$",
    ):
        boundary(ResultSet([*RESULTS, other]))
    incomplete = ResultSet([*RESULTS, _result("a", "one", 3, 0.1, 0.1)])
    with pytest.raises(DataError, match="not measured on b"):
        boundary(incomplete)
    assert len(boundary(incomplete, drop_incomplete=True).mean["one"]) == 2
