"""Figures of results: matplotlib figures that pyplot does not hold, of at least k records to a bar."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import matplotlib as mpl
import pytest

mpl.use("Agg")

from matplotlib.figure import Figure

import shoal

ROLES: dict[str, Any] = {"quasi": ["birth", "marital", "income"], "identifier": ["person"]}


@pytest.fixture(scope="module")
def people() -> Any:
    return shoal.survey(300)


@pytest.fixture(scope="module")
def done(people: Any) -> Any:
    return shoal.protect(people, ROLES, k=5)


def png(figure: Figure) -> bytes:
    """Return the picture that a notebook shows."""
    shown: bytes = figure._repr_png_()  # type: ignore[attr-defined]
    assert shown.startswith(b"\x89PNG")
    return shown


def texts(figure: Figure) -> set[str]:
    """Return everything that is written on a figure."""
    figure.canvas.draw()
    return {one.get_text() for one in figure.findobj(mpl.text.Text) if one.get_text()}


def test_class_sizes(done: Any) -> None:
    sizes = done.partition.sizes.tolist()
    for figure in (done.partition.plot(), done.audit.plot(), shoal.audit(done.data, ROLES["quasi"]).plot()):
        png(figure)
        heights = [bar.get_height() for bar in figure.axes[0].patches]
        assert sum(heights) == len(sizes)
        assert heights[0] == sizes.count(min(sizes))
        assert str(min(sizes)) in texts(figure)


def test_class_sizes_far_apart(people: Any) -> None:
    found = shoal.audit(people, ["region"])
    assert sum(size * many for size, many in found.overall.sizes) == 300
    bars = found.plot().axes[0].patches
    assert len(bars) <= 40
    assert sum(bar.get_height() for bar in bars) == found.overall.classes


def test_class_sizes_of_an_audit_in_parts(people: Any, tmp_path: Any) -> None:
    shoal.write_table(people, tmp_path / "people.parquet")
    in_parts = shoal.audit(tmp_path / "people.parquet", ["region", "marital"], memory="1MB")
    assert in_parts.overall.sizes == shoal.audit(people, ["region", "marital"]).overall.sizes


def test_before_and_after(done: Any) -> None:
    figure = done.plot()
    png(figure)
    assert {"birth", "marital", "income"} <= texts(figure)
    bars = [one for one in figure.axes[0].patches if isinstance(one, mpl.patches.Rectangle)]
    assert sum(bar.get_height() * bar.get_width() for bar in bars) == pytest.approx(1.0)


def test_unused_places_stay_empty(done: Any) -> None:
    assert [axes.axison for axes in done.plot().axes] == [True, True, True, False]


def test_some_columns(done: Any) -> None:
    assert len(done.plot("income").axes) == 1
    assert "income" in texts(done.plot(["income"]))
    with pytest.raises(shoal.ParameterError, match="no released attribute is called 'incom'"):
        done.plot(["incom"])


def test_no_bar_of_few_records() -> None:
    import pyarrow as pa

    rare = pa.table({"work": ["nurse"] * 20 + ["clerk"] * 20 + ["bishop"] + ["cook"] * 9, "age": list(range(50))})
    figure = shoal.protect(rare, quasi=["work", "age"], k=5).plot(["work"])
    assert "bishop" not in texts(figure)
    assert "nurse" in texts(figure)


def test_a_name_is_no_formula() -> None:
    import pyarrow as pa

    odd = r"$\frac{a}{b$"
    done = shoal.protect(pa.table({odd: list(range(60))}), quasi=[odd], k=5)
    png(done.plot())


def test_after_pickling_there_are_no_originals(done: Any) -> None:
    again = pickle.loads(pickle.dumps(done))
    with pytest.raises(shoal.ParameterError, match="pickl"):
        again.plot()
    png(again.partition.plot())


def test_the_frontier(people: Any) -> None:
    found = shoal.explore(people, ROLES, methods=["mdav", "tour"], k=[3, 10], effort=["none"])
    figure = found.plot()
    png(figure)
    assert f"recommended: {found.recommended.name}" in texts(figure)
    assert {"mdav", "tour"} <= texts(figure)


def test_two_frontiers(people: Any) -> None:
    asked = {"quasi": ["birth", "income"], "confidential": ["health"]}
    found = shoal.explore(people, asked, methods=["mdav", "t_close_merge"], k=[3], t=[0.3], effort=["none"])
    assert "all settings" in texts(found.plot())


def test_noise_against_loss(people: Any) -> None:
    bounds = {"income": [0, 500_000], "commute_minutes": [0, 240]}
    found = shoal.explore(people, {"quasi": list(bounds)}, methods=["mdav"], k=[3, 30], epsilon=1.0, bounds=bounds)
    figure = found.plot()
    png(figure)
    assert "Noise against loss" in texts(figure)


def test_what_a_model_keeps(people: Any) -> None:
    pytest.importorskip("sklearn")
    asked = {"quasi": ["birth", "rent"], "confidential": ["income"], "identifier": ["person", "household"]}
    tried: dict[str, Any] = {"methods": ["mdav"], "k": [3], "effort": ["none"], "releases": ["centroid"]}
    found = shoal.explore(people, asked, target="income", **tried)
    figure = found.plot()
    png(figure)
    assert "What a model keeps" in texts(figure)


def test_pyplot_holds_no_figure(done: Any) -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    done.audit.plot()
    assert plt.get_fignums() == before


def test_without_matplotlib_it_says_how_to_install_it(done: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(shoal.ParameterError, match=r"plot: needs the package matplotlib.*pip install 'shoal\[plot\]'"):
        done.audit.plot()
