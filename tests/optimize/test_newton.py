"""Newton's method, of whatever objective."""

import numpy as np
import pytest

from suffice.optimize.interrupts import Interrupted
from suffice.optimize.newton import Local, Problem, run


def cosh(x):
    """Σ cosh x has its minimum at 0, and its full Newton step is too long when one begins far away."""
    with np.errstate(over="ignore"):
        return Local(float(np.cosh(x).sum()), np.sinh(x), np.diag(np.cosh(x)))


def quartic(x):
    """√(1 + x²): a full step from beyond 1 goes further out, unless it is halved."""
    root = np.sqrt(1 + x**2)
    return Local(float(root.sum()), x / root, np.diag(root**-3))


def solve(here):
    return -np.linalg.solve(here.hessian, here.gradient)


def test_the_objective_never_rises_and_ends_at_its_minimum():
    for evaluate, start in ((cosh, 9.0), (quartic, 3.0)):
        outcome = run(Problem(evaluate, solve), np.array([start, -start]), max_iter=50, tol=1e-12)
        assert outcome.converged
        assert (np.diff(outcome.values) <= 0).all()
        np.testing.assert_allclose(outcome.point, 0.0, atol=1e-9)


def test_a_step_out_of_the_domain_is_halved():
    def barrier(x):  # x − log x, for positive x alone
        value = float(x[0] - np.log(x[0])) if x[0] > 0 else np.inf
        with np.errstate(divide="ignore"):
            return Local(value, 1 - 1 / x, np.diag(x**-2.0))

    outcome = run(Problem(barrier, solve), np.array([5.0]), max_iter=50, tol=1e-12)
    assert outcome.point[0] == pytest.approx(1.0, abs=1e-9)


def test_a_loop_says_whether_it_is_stuck_or_at_an_edge():
    def kink(x):  # |x| at its minimum, with the slope of one side
        return Local(float(abs(x[0])), np.ones(1), np.eye(1))

    outcome = run(Problem(kink, solve), np.zeros(1), max_iter=50, tol=1e-12)
    assert outcome.stuck
    assert not outcome.converged
    assert not outcome.at_edge
    np.testing.assert_array_equal(outcome.point, 0.0)

    def fence(x):  # x, for positive x alone
        return Local(float(x[0]) if x[0] > 0 else np.inf, np.ones(1), np.eye(1))

    outcome = run(Problem(fence, solve), np.ones(1), max_iter=50, tol=1e-12)
    assert outcome.at_edge
    assert not outcome.converged
    assert 0 < outcome.point[0] < 1e-6


def test_a_start_where_nothing_is_defined_is_an_error():
    with pytest.raises(ValueError, match="must start where the objective"):
        run(Problem(cosh, solve), np.array([1e6]), max_iter=5, tol=1e-12)


def test_ctrl_c_keeps_the_point_that_was_reached():
    points = []

    def interrupted(x):
        points.append(x)
        if len(points) == 4:
            raise KeyboardInterrupt
        return cosh(x)

    with pytest.raises(Interrupted) as stop:
        run(Problem(interrupted, solve), np.array([5.0]), max_iter=50, tol=1e-12)
    outcome = stop.value.outcome
    assert outcome.interrupted
    assert not outcome.converged
    assert outcome.point == points[2]
    assert len(outcome.values) == 3


def test_the_iterations_are_told_and_limited():
    told = []
    outcome = run(Problem(cosh, solve), np.array([9.0]), max_iter=3, tol=1e-12, watch=told.append)
    assert not outcome.converged
    assert [(now.number, now.bound) for now in told] == [(i + 1, -value) for i, value in enumerate(outcome.values)]
    hopeless = Problem(cosh, solve, lambda here: here.value < 1000)
    assert run(hopeless, np.array([9.0]), max_iter=50, tol=1e-12).local.value < 1000
