"""Vector instructions and plain loops return the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.kernels.runtime import jit, plain_lanes, vector_lanes
from shoal.kernels.runtime.lanes import padded

ROOT = Path(__file__).parents[3]
VALUES = [0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 1e-300, 1e200, -1e200, np.inf, -np.inf, np.nan, 3e-39, 1e-45, 2.0**60]


def entry(module, name, count):
    """A function that Python can call, for one that only kernels can."""
    arguments = ", ".join(f"a{i}" for i in range(count))
    scope = {"inner": getattr(module, name)}
    exec(f"def outer({arguments}):\n    return inner({arguments})", scope)
    return jit._njit(**jit.OPTIONS)(scope["outer"])


COUNTS = {"scan_points": 6, "scan_queries": 5, "scan_boxes": 5, "scan_apart": 6, "scan_reaches": 7, "lowest_bit": 1}
COUNTS |= {"least8": 3, "most8": 3, "least16": 3, "most16": 3, "gap": 4}
BOTH = {name: [entry(module, name, count) for module in (vector_lanes, plain_lanes)] for name, count in COUNTS.items()}


def bits(values: object) -> bytes:
    """Return the bits of floats; which of the many NaN an operation returns is left to the processor."""
    found = np.array(values, dtype=np.float64, ndmin=1)
    found[np.isnan(found)] = np.nan
    return found.tobytes()


def same(name: str, *arguments: object, out: np.ndarray | None = None) -> None:
    """Call both, and compare what they return and what they write, bit by bit."""
    found = []
    for function in BOTH[name]:
        written = [] if out is None else [out.copy()]
        found.append([bits(function(*arguments, *written)), *(bits(one) for one in written)])
    assert found[0] == found[1], name


@st.composite
def numbers(draw: st.DrawFn) -> tuple[np.random.Generator, np.dtype, int]:
    return (
        np.random.default_rng(draw(st.integers(0, 2**32))),
        np.dtype(draw(st.sampled_from(["f4", "f8"]))),
        draw(st.integers(1, 9)),
    )


def some(rng: np.random.Generator, kind: np.dtype, *shape: int) -> np.ndarray:
    """Ordinary numbers, mixed with the odd ones in half of the cases."""
    found = rng.normal(size=shape)
    if rng.random() < 0.5:
        odd = rng.random(shape) < 0.3
        found[odd] = rng.choice(VALUES, int(odd.sum()))
    with np.errstate(all="ignore"):
        return found.astype(kind)


@np.errstate(all="ignore")
@given(numbers())
def test_scans(given_numbers: tuple[np.random.Generator, np.dtype, int]) -> None:
    rng, kind, d = given_numbers
    points, q, out16, out8 = some(rng, kind, 3, d, 16), some(rng, kind, d), some(rng, kind, 16), some(rng, kind, 8)
    boxes, reach = some(rng, kind, 3, 2 * d, 8), some(rng, kind, 3, 8)
    low, high = np.sort(some(rng, kind, 2, d), axis=0)
    for block in range(3):
        # thresholds that some distances equal, or equal once rounded: callers may give float64
        distances = ((points[block] - q[:, None]) ** 2).sum(axis=0)
        near, far = (float(value) * (1 + 1e-9 * rng.integers(-1, 2)) for value in rng.choice(distances, 2))
        same("scan_points", points, block, q, near, far, out=out16)
        same("scan_queries", points, block, low, high, some(rng, kind, 16) ** 2)
        same("scan_boxes", boxes, block, q, near, out=out8)
        same("scan_apart", boxes, block, low, high, near, out=out8)
        same("scan_reaches", boxes, reach, block, q, float(low[0]), near, out=out8)


@np.errstate(all="ignore")
@given(numbers())
def test_folds(given_numbers: tuple[np.random.Generator, np.dtype, int]) -> None:
    rng, kind, d = given_numbers
    values = some(rng, kind, 2, d, 16)
    if rng.random() < 0.3:
        values = rng.choice([0.0, -0.0, np.nan], values.shape).astype(kind)
    at = int(rng.integers(0, values.size - 15))
    for start in [*some(rng, kind, 3), kind.type(np.inf), kind.type(-np.inf)]:
        for name in ("least8", "most8", "least16", "most16"):
            same(name, values, at, start)


@given(numbers())
def test_gaps(given_numbers: tuple[np.random.Generator, np.dtype, int]) -> None:
    rng, _, d = given_numbers
    a, b = padded(some(rng, np.dtype("f8"), 5, d)), padded(some(rng, np.dtype("f8"), 7, d))
    same("gap", a, int(rng.integers(5)), b, int(rng.integers(7)))


def test_lowest_bits() -> None:
    for mask in range(1, 1 << 16, 7):
        same("lowest_bit", mask)


def test_a_wrong_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_VECTOR", "of")
    with pytest.raises(ParameterError, match="SHOAL_VECTOR: must be on or off, got 'of'"):
        jit.vector_code.__wrapped__()


@pytest.mark.parametrize("fault", ["byteorder", "verify"])
def test_plain_loops_where_vectors_are_not_supported(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert jit.vector_code.__wrapped__()
    if fault == "byteorder":
        monkeypatch.setattr("sys.byteorder", "big")
    else:
        monkeypatch.delattr("llvmlite.ir.IRBuilder.shuffle_vector")
    assert not jit.vector_code.__wrapped__()


def test_compiled_kernels_of_both_kinds_never_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    assert jit.vector_code()
    before = jit.fingerprint()
    monkeypatch.setattr(jit, "vector_code", lambda: False)
    assert jit.fingerprint() != before


@pytest.mark.long
def test_plain_loops_give_the_oracles_labels() -> None:
    program = """
        import importlib.util
        import numpy as np
        from shoal.kernels.mdav.mdav import mdav
        from shoal.kernels.runtime import lanes, plain_lanes
        assert lanes.scan_points is plain_lanes.scan_points
        spec = importlib.util.spec_from_file_location("oracle", "tests/oracles/mdav.py")
        oracle = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(oracle)
        rng = np.random.default_rng(0)
        for n, d, k in ((20, 1, 2), (150, 3, 3), (300, 5, 7), (700, 2, 4)):
            for points in (rng.normal(size=(n, d)), rng.integers(0, 5, (n, d)) * 0.1):
                for path in ("brute", "index", None):
                    np.testing.assert_array_equal(mdav(points, k, path=path)[0], oracle.mdav(points, k))
        print("same")
    """
    environment = {**os.environ, "SHOAL_VECTOR": "off"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True, text=True, check=False, cwd=ROOT, env=environment,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "same"), done.stderr
