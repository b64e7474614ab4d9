"""Differential privacy: the audit fails closed, and outputs of neighbours are as similar as e^ε requires."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.partition.insensitive import Insensitive
from shoal.partition.mdav import Mdav
from shoal.privacy.differential_privacy import DifferentialPrivacy
from shoal.release._noise_sampler import Noise, noisy
from shoal.types import Block, Column, Domain, Entry, Kind, Ledger, Points, Release, Role, Schema, Taxonomy
from shoal.types.privacy_ledger import CLAIMS, parallel, sequential

LABELS = np.array([0, 0, 1, 1, 1])
DOMAINS = {"a": Domain(0.0, 10.0), "b": Domain(-1.0, 1.0)}


def ledger(claim: str = "microaggregated", epsilon: float = 0.5, sizes: tuple[int, ...] = (2, 3)) -> Ledger:
    """What [SD17] asks for, exactly: ε for each of two attributes."""
    entries = []
    for j, (name, domain) in enumerate(DOMAINS.items()):
        reach = domain.width / np.array(sizes)
        if claim == "original":
            reach = np.array([domain.width * (2.0 if j == 0 else 1.0) / sizes[0]])
        scales = np.broadcast_to(reach / epsilon, len(sizes)).copy()
        entries.append(Entry(0, name, epsilon, "laplace", reach, scales))
    return Ledger(claim, tuple(entries), DOMAINS, strips=(1, 1) if claim == "original" else ())


def release(
    book: Ledger | None, a: Any = (1.0, 1.0, 7.0, 7.0, 7.0), labels: np.ndarray = LABELS, **more: Any
) -> Release:
    data = pa.table({"a": list(a), "b": [0.5, 0.5, -1.0, -1.0, -1.0], **more})
    return Release(data, Schema(()), classes={"a": labels, "b": labels}, ledger=book, shuffled=True)


def audit(one: Release, epsilon: float | None = 1.0) -> Any:
    return DifferentialPrivacy(epsilon).audit(one, ("a", "b"))


@pytest.mark.parametrize("claim", CLAIMS)
def test_epsilon_comes_from_scales_sizes_and_bounds(claim: str) -> None:
    found = audit(release(ledger(claim)))
    assert found.achieved == pytest.approx(1.0)
    assert found.holds
    assert CLAIMS[claim] in found.note
    assert audit(release(ledger(claim, epsilon=0.1))).achieved == pytest.approx(0.2)
    assert not audit(release(ledger(claim)), 0.99).holds


def scaled(book: Ledger, factor: float) -> Ledger:
    """The same ledger, one of whose scales is another, in one class."""
    scales = book.entries[0].scales.copy()
    scales[-1] *= factor
    return replace(book, entries=(replace(book.entries[0], scales=scales), book.entries[1]))


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize(
    ("broken", "level"),
    [
        (lambda book: release(scaled(book, 0.5)), 1.5),  # noise half as wide in one class
        (lambda book: release(scaled(book, 0.0)), math.inf),  # none
        (lambda book: release(scaled(book, math.nan)), math.inf),
        (lambda book: release(book, a=(1.0, 1.0, 7.0, 7.0, 7.5)), math.inf),  # a draw of its own
        (lambda book: release(book, a=(1.0, 1.0, 11.0, 11.0, 11.0)), math.inf),  # beyond the bounds
        (lambda book: release(book, a=(1.0, 1.0, None, None, None)), math.inf),
    ],
)
def test_what_lacks_noise_fails(claim: str, broken: Callable[[Ledger], Release], level: float) -> None:
    found = audit(broken(ledger(claim)))
    assert not found.holds
    assert found.achieved == pytest.approx(level)


def test_classes_that_are_smaller_than_assumed_fail() -> None:
    labels = np.array([0, 1, 1, 1, 1])  # the first has one member: its mean changes by twice as much
    found = audit(release(ledger(), a=(1.0, 7.0, 7.0, 7.0, 7.0), labels=labels))
    assert not found.holds
    one = release(ledger(), a=(1.0,) * 5, labels=np.zeros(5, np.int64))  # classes without a draw
    assert not audit(one).holds


def test_of_original_records_nothing_else_may_leave_and_rows_are_in_random_order() -> None:
    book = ledger("original")
    assert not audit(release(book, c=[1, 2, 3, 4, 5])).holds
    assert audit(release(book)).holds
    kept = audit(replace(release(book), shuffled=False))
    assert "rows are not in random order" in kept.note
    assert not kept.holds
    crossed = replace(release(book), classes={"a": LABELS, "b": np.array([0, 1, 0, 1, 1])})
    assert "attributes have different classes" in audit(crossed).note
    uneven = ledger("original", sizes=(2, 3, 4))
    labels = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2])
    data = pa.table({"a": labels.astype(float), "b": labels / 9})
    found = audit(Release(data, Schema(()), classes={"a": labels, "b": labels}, ledger=uneven))
    assert "sizes of classes depend on the data" in found.note
    assert not found.holds
    assert not audit(release(replace(book, strips=()))).holds


@pytest.mark.parametrize(("claim", "level"), [("microaggregated", 3.0), ("original", 2.0)])
def test_medoids_with_the_noise_of_means_fail(claim: str, level: float) -> None:
    """ε is that of means times the members of the largest class; for original records, of every class but the last."""
    book = replace(ledger(claim), representative="medoid")
    found = audit(release(book))
    assert not found.holds
    assert found.achieved == pytest.approx(level)
    enough = replace(book, entries=tuple(replace(e, scales=e.scales * [2, 3]) for e in book.entries))
    assert audit(release(enough)).achieved == pytest.approx(1.0)
    unknown = audit(release(replace(book, representative="mode")))
    assert not unknown.holds
    assert unknown.achieved == math.inf
    assert "it is not known what the noise was added to" in unknown.note


ILL = Taxonomy({"flu": ("lungs",), "asthma": ("lungs",), "ulcer": ("belly",)})


@pytest.mark.parametrize(
    ("strips", "reach", "level"),
    [
        ((3, 1), (1.5 / 2, 10 * 2 / 2), 1.0),  # two classes: no more than two steps, though there are three cells
        ((2, 1), (2.0 / 2, 10 * 2 / 2), 1.0),
        ((1, 1), (2.0 / 2, 10 * 1 / 2), 1.0),
        ((3, 1), (1.5 / 2, 10 * 1 / 2), 1.5),  # the number is gone through for each cell
        ((3, 1), (1.0 / 2, 10 * 2 / 2), 1.25),  # as if classes counted in parallel
        ((7, 1), (1.5 / 2, 10 * 2 / 2), math.inf),  # no depth has that many groups
    ],
)
def test_of_original_records_categories_are_counted_along_their_line(
    strips: tuple[int, ...], reach: tuple[float, float], level: float
) -> None:
    scales = [np.full(2, 2 * reach[0] / 0.5), np.full(2, reach[1] / 0.5)]
    entries = (
        Entry(0, "ill", 0.5, "exponential", np.array([reach[0]]), scales[0]),
        Entry(0, "a", 0.5, "laplace", np.array([reach[1]]), scales[1]),
    )
    data = pa.table({"ill": ["flu"] * 2 + ["ulcer"] * 3, "a": [1.0, 1.0, 7.0, 7.0, 7.0]})
    schema = Schema((Column("ill", Role.QUASI, Kind.NOMINAL, ILL), Column("a", Role.QUASI, Kind.CONTINUOUS)))
    book = Ledger("original", entries, {"a": DOMAINS["a"]}, strips=strips)
    found = DifferentialPrivacy(1.0).audit(
        Release(data, schema, classes={"ill": LABELS, "a": LABELS}, ledger=book, shuffled=True), ("ill", "a")
    )
    assert found.achieved == pytest.approx(level)
    assert found.holds is (level <= 1.0)


@pytest.mark.parametrize("why", ["from_data", "seeded"])
def test_what_is_not_private_is_not_promised(why: str) -> None:
    found = audit(release(replace(ledger(), **{why: True})))
    assert not found.promised
    assert found.achieved == math.inf
    assert found.note.startswith("NOT PRIVATE")
    assert "the claim otherwise: ε-differential" in found.note


def test_a_table_by_itself_does_not_show_it() -> None:
    with pytest.raises(shoal.ParameterError, match="which a table does not show"):
        shoal.audit(pa.table({"a": [1, 1]}), quasi=["a"], require={"epsilon": 1})


def test_an_attribute_without_an_entry_fails() -> None:
    book = ledger()
    with pytest.raises(shoal.GuaranteeError, match="one entry for each quasi-identifier"):
        audit(release(replace(book, entries=book.entries[:1])))
    with pytest.raises(shoal.GuaranteeError, match="every record must have one class"):
        audit(replace(release(book), classes={"a": LABELS}))


def test_the_gate_refuses_noise_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Noise.laplace
    monkeypatch.setattr(Noise, "laplace", lambda self, v, reach, epsilon: plain(self, v, reach / 2, epsilon))
    data = pa.table({"a": np.arange(20.0)})
    said = {"quasi": ["a"], "release": "laplace", "epsilon": 1, "bounds": {"a": [0, 20]}}
    with pytest.raises(shoal.GuaranteeError, match="differential_privacy over a requires 1 and achieves 2"):
        shoal.protect(data, said)


def test_composition() -> None:
    assert sequential([0.1] * 3) == pytest.approx(0.3)
    assert parallel([0.1, 0.3, 0.2]) == 0.3
    assert parallel([]) == 0.0
    assert ledger().total == 1.0
    assert "parallel" in ledger().composition
    assert "at once" in ledger("original").composition  # where one record may change many classes
    assert ledger().to_dict()["entries"][0]["scale"] == 10.0


# Outputs of two neighbours over many runs. Where noise is what ε needs, no event is e^ε times likelier for one of them.
RUNS, EPSILON = 4_000, 1.0
Blocks = Callable[[np.ndarray], Block]


def insensitive(X: np.ndarray) -> Block:
    d = X.shape[1]
    return Insensitive(2).partition(Points(X, widths=np.ones(d), lows=np.zeros(d)), RNG).blocks[0]


def by_mdav(X: np.ndarray) -> Block:
    """Classes that depend on the data, as if they did not: a lie."""
    return replace(Mdav(2).partition(Points(X), RNG).blocks[0], moves=insensitive(X).moves)


RNG = np.random.default_rng(0)
UNIT = Domain(0.0, 1.0)


def outputs(X: np.ndarray, block: Block, *, fixed: bool, factor: float = 1.0) -> np.ndarray:
    """Return the list of class values of many runs, through the code that releases them; shape (runs, classes · d)."""
    many = (block.labels + len(block) * np.arange(RUNS)[:, None]).ravel()
    found = []
    for j, column in enumerate(X.T):
        reach = np.tile(1.0 / block.sizes, RUNS) if fixed else np.array([block.moves[j]])  # type: ignore[index]
        values, _ = noisy(np.tile(column, RUNS), many, UNIT, (reach * factor, EPSILON / X.shape[1]), Noise())
        found.append(values.reshape(RUNS, len(block)))
    return np.column_stack(found)


def likeliest(one: np.ndarray, other: np.ndarray) -> float:
    """Return log of the largest ratio of chances over all events of a grid, less 4.5 deviations.

    Each value is at its lower end, in the lower or the upper half, or at its upper end. All events, and all
    those that leave some values open.
    """
    places = [np.where(x == 0.0, 0, np.where(x == 1.0, 3, np.where(x < 0.5, 1, 2))) for x in (one, other)]
    best = -math.inf
    for chosen in product([False, True], repeat=one.shape[1]):
        if not any(chosen):
            continue
        base = 4 ** np.arange(sum(chosen))
        a, b = (np.bincount(x[:, chosen] @ base, minlength=4 ** sum(chosen)) for x in places)
        for p, q in ((a, b), (b, a)):
            low, high = p - 4.5 * np.sqrt(p), q + 4.5 * np.sqrt(q + 1.0)
            best = max(best, float(np.log(np.maximum(low, 1e-9) / high).max()))
    return best


ONE = (np.array([[0.0], [0.0], [0.0], [0.0]]), np.array([[1.0], [0.0], [0.0], [0.0]]))
TWO = (
    np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]),
    np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]),
)
FLIPPED = (np.array([[0.0], [0.0], [0.5], [1.0]]), np.array([[0.0], [0.0], [1.0], [1.0]]))


def compared(pair: tuple[np.ndarray, np.ndarray], blocks: Blocks | None, factor: float = 1.0) -> float:
    fixed = Block((), np.array([0, 0, 1, 1]))
    lists = [
        outputs(X, fixed if blocks is None else blocks(X), fixed=blocks is None, factor=factor)[:, :3] for X in pair
    ]
    return likeliest(lists[0], lists[1])


@pytest.mark.parametrize(
    ("pair", "blocks"), [(ONE, None), (TWO, None), (ONE, insensitive), (TWO, insensitive), (FLIPPED, insensitive)]
)
def test_no_event_is_likelier_by_more_than_epsilon_allows(pair: Any, blocks: Blocks | None) -> None:
    assert compared(pair, blocks) <= EPSILON


@pytest.mark.parametrize(
    ("pair", "blocks", "factor"), [(ONE, None, 0.5), (ONE, insensitive, 0.5), (FLIPPED, by_mdav, 1)]
)
def test_what_is_broken_is_caught(pair: Any, blocks: Blocks | None, factor: float) -> None:
    """Noise half as wide, with classes fixed and without; and classes by MDAV, as if they did not depend on data."""
    assert compared(pair, blocks, factor) > EPSILON
