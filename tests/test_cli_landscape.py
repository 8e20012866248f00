"""``symslr landscape`` as a user meets it."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from symslr.cli import main
from symslr.cli.landscape import _shown


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["landscape", *arguments])
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_both_minima(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--task", "spiked", "--length", "10", "--nu", "5", "--json")
    assert status == 0, err
    matched, mismatched = json.loads(out)["minima"]
    assert float(matched["value"]) == pytest.approx(0.359807984, abs=1e-9)  # the table of reference values
    assert (matched["kind"], matched["minimum"]) == ("matched", True)
    assert (mismatched["kind"], mismatched["minimum"]) == ("mismatched", True)
    assert float(mismatched["value"]) > 0.8


def test_risk_and_gradient_at_a_point(capsys: pytest.CaptureFixture[str]) -> None:
    point = "m_kk=0.8,m_vv=0.7,q_kk=1.6,q_vv=1.3,m_kv=0.3,m_vk=-0.4,q_kv=0.35"
    status, out, _ = run(capsys, "--length", "3", "--nu", "2", "--noise", "1/2", "--at", point, "--json")
    found = json.loads(out)
    assert status == 0
    assert float(found["value"]) == pytest.approx(1.370546237629, abs=1e-9)
    assert len(found["gradient"]) == 7
    assert float(found["error"]) < 1e-9
    status, out, _ = run(capsys, "--length", "3", "--nu", "2", "--at", point)
    assert status == 0
    assert "dE/dm_kv" in out
    assert "spiked task at L=3, nu=2, Delta=0\n" in out


@pytest.mark.parametrize(
    ("at", "reason"),
    [("m_zz=1", "expected name=number"), ("m_kk=2,q_kk=1", "expected q >= m m"), ("m_kk=x", "--at m_kk")],
)
def test_bad_points_take_one_line(capsys: pytest.CaptureFixture[str], at: str, reason: str) -> None:
    status, _, err = run(capsys, "--length", "3", "--nu", "2", "--at", at)
    assert status == 2
    assert reason in err
    assert err.count("\n") == 1


def test_a_minimum_is_the_least_risk_within_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Twenty digits of it are those of ``symslr risk``, by another route."""
    found = json.loads(run(capsys, "--length", "3", "--nu", "2", "--kernel", "log(1+exp(x))", "--json")[1])
    for minimum in found["minima"]:
        assert abs(Decimal(minimum["value"]) - Decimal("0.36982874203080378297")) <= Decimal(minimum["error"])
        assert Decimal(minimum["error"]) < Decimal("1e-10")


@pytest.mark.parametrize(
    ("kernel", "length", "scale"),
    [("exp(x)", "3", "1.41421356237309505"), ("log(1+exp(x))", "5", None), ("1+max(x,0)", "3", None)],
    ids=["softmax", "softplus", "kink"],
)
def test_a_minimum_is_within_the_errors_of_its_order_parameters(
    capsys: pytest.CaptureFixture[str], kernel: str, length: str, scale: str | None
) -> None:
    """Regression: q_kk = 2.00000026 was printed for 2. The scale that ``symslr risk`` finds is m_kk, and q_kk its square."""
    minimum = json.loads(run(capsys, "--length", length, "--nu", "2", "--kernel", kernel, "--json")[1])["minima"][0]
    assert (minimum["kind"], minimum["minimum"]) == ("matched", True)
    order, errors = ({name: Decimal(own) for name, own in minimum[key].items()} for key in ("order", "order_error"))
    off = Decimal(0)
    if scale is None:
        with pytest.raises(SystemExit, match="0"):
            main(["risk", "--length", length, "--nu", "2", "--kernel", kernel, "--digits", "12", "--json"])
        best = json.loads(capsys.readouterr().out)["best"]["a"]
        scale, off = best["value"], Decimal(best["error"])
    at = Decimal(scale)
    assert abs(order["m_kk"] - at) <= errors["m_kk"] + off < Decimal("0.01")
    assert abs(order["q_kk"] - at**2) <= errors["q_kk"] + 3 * at * off
    for name in ("m_kv", "m_vk", "q_kv"):
        assert abs(order[name]) <= errors[name]
    assert abs(order["q_vv"] - order["m_vv"] ** 2) <= errors["q_vv"] + 3 * order["m_vv"] * errors["m_vv"]


def test_a_printed_error_covers_what_rounding_leaves_out() -> None:
    shown = _shown(0.123456789, 0.0014999)
    assert shown == {"value": "0.1235", "error": "0.0016"}  # 0.0015 would be the error alone
    assert _shown(1e-9, 0.0012) == {"value": "0", "error": "0.0013"}
    assert _shown(0.0, 0.0) == {"value": "0", "error": "0"}


def test_a_square_that_vanishes_has_an_error_of_its_size(capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: without a signal the key is 0, and q_kk was 2e-59 with an error of 4e-60: differences over unit steps."""
    _, out, _ = run(capsys, "--nu", "0", "--length", "3", "--json")
    for found in json.loads(out)["minima"]:
        exact = {"m_vv": 1, "q_vv": 1}
        for name, value in found["order"].items():
            assert abs(float(value) - exact.get(name, 0)) <= float(found["order_error"][name])
