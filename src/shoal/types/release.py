"""Releases, and the findings of their audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shoal.display.card import Card, Shown
from shoal.errors import listing
from shoal.types.disclosure import sentences_of
from shoal.types.run import coarse, significant

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from shoal.types.privacy_ledger import Ledger
    from shoal.types.run import Unchanged
    from shoal.types.table import Dialect, Schema, Step


CLASSES = "classes"  #: first part of the keys under which audits cache the classes of cells as written


@dataclass(frozen=True, eq=False)
class Reference:
    """The distribution of a confidential column in the whole table, for the audit of a part of its records.

    Attributes
    ----------
    cells
        Distinct cells of the column as they are written; a missing one is among them if it occurs.
    values
        The same cells parsed as values.
    counts
        Number of records of the table that have each cell.
    """

    cells: pa.ChunkedArray = field(repr=False)
    values: pa.ChunkedArray = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    cache: dict[Any, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  #: results of audits that are the same for all parts


@dataclass(frozen=True, eq=False)
class Release:
    """A table as it will be released: identifiers removed, quasi-identifiers replaced class by class."""

    data: pa.Table = field(repr=False)
    schema: Schema  #: of the released columns
    dialect: Dialect | None = None
    subjects: pa.ChunkedArray | None = field(
        default=None, repr=False
    )  #: the subject of each row; for the audit, not released
    subject_exact: bool = field(default=False, kw_only=True)  #: whether every spelling is a separate subject
    read: Mapping[str, pa.ChunkedArray] = field(
        default_factory=dict, repr=False
    )  #: text cells parsed as values, for the audits that need values
    origins: Mapping[str, NDArray[np.int64]] = field(
        default_factory=dict, repr=False
    )  #: for each column with cells of other records, their rows; for the measures, not released
    original: pa.Table | None = field(
        default=None, repr=False
    )  #: the original columns; for an audit that compares, not released
    classes: Mapping[str, NDArray[np.int64]] = field(
        default_factory=dict, repr=False
    )  #: for each of these sets the class of every record, if not visible; for the audit, not released
    apart: Release | None = field(
        default=None, repr=False
    )  #: a second released table: `link`, and the confidential columns, which are not in this one
    link: str | None = None  #: the column that identifies a row's class in both tables
    ledger: Ledger | None = field(default=None, repr=False)  #: how ε was spent, if noise was added; for the audit
    exact: Mapping[str, pa.Array] | None = field(
        default=None, repr=False
    )  #: rounded columns before rounding; for the measures, not released. None: means are not rounded here
    resolutions: Mapping[str, Step | str] = field(
        default_factory=dict
    )  #: for each column of rounded values the step they must be multiples of; for the audit
    shuffled: bool = False  #: whether rows are in random order; for the audit
    weights: NDArray[np.float64] | None = field(
        default=None, repr=False
    )  #: the weight of each row in its class mean; for the audit, not released
    swap_key: bytes | None = field(
        default=None, repr=False
    )  #: the secret key by which values were assigned; for the receipt, not released
    references: Mapping[str, Reference] = field(
        default_factory=dict, repr=False
    )  #: confidential columns of the whole table, if these rows are a part of it that holds whole classes
    population: pa.Table | None = field(
        default=None, repr=False
    )  #: quasi-identifiers of the population that the records come from, parsed; for the audit, not released
    replays: tuple[int, int] | None = None  #: number of replays with equal classes, and of all; for the audit
    cache: dict[Any, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  #: cached results of audits; a changed release starts without them

    def values(self, name: str) -> pa.ChunkedArray:
        """Return the values of a column, parsed if it is text."""
        return self.read.get(name, self.data.column(name))

    def reading(self, parsed: Mapping[str, pa.ChunkedArray]) -> Release:
        """Return the release with more parsed columns; classes stay cached, which are those of cells as written."""
        found = replace(self, read={**self.read, **parsed})
        found.cache.update({key: one for key, one in self.cache.items() if key[0] == CLASSES})
        return found


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of an audit for one privacy model.

    Attributes
    ----------
    model
        Key of the model, for example ``k_anonymity``.
    attributes
        The columns that were audited.
    achieved
        The level that actually holds.
    required
        The promised level; None if the finding is for information.
    holds
        Whether the required level is achieved; True if none is required.
    classes
        Number of equivalence classes.
    worst
        The worst classes: (number of the class by first row, level).
    note
        What the reader must know to interpret it.
    promised
        False: the method that made the release does not promise it, whatever was found.
    confidential
        The audited confidential column, for a model about one.
    short
        The short name of the level, as in ``--require``.
    given
        Fixed parameters of a model with several numbers: (name, value).
    level
        The name of the number in `achieved` and `required`.
    found
        Further achieved numbers: (name, value).
    uniform
        For a model that counts confidential values: the number of classes that hold a single value, and of their
        records.
    sizes
        For k-anonymity: pairs of a class size and the number of classes that have it, by size.

    >>> rare = Finding("kpqr", ("age",), 0.7, 0.5, False, 9, given=(("p", 4),), level="r", found=(("p", 3),))
    >>> rare.levels
    ('p=4, r=0.5', 'p=3, r=0.7')
    """

    model: str
    attributes: tuple[str, ...]
    achieved: float
    required: float | None
    holds: bool
    classes: int
    worst: tuple[tuple[int, float], ...] = ()
    note: str = ""
    promised: bool = True
    confidential: str | None = None
    short: str = ""
    given: tuple[tuple[str, float], ...] = ()
    level: str = ""
    found: tuple[tuple[str, float], ...] = ()
    uniform: tuple[int, int] = (0, 0)
    sizes: tuple[tuple[int, int], ...] = field(default=(), repr=False, compare=False)

    @property
    def subject(self) -> str:
        """The model and its columns, in words: ``k_anonymity over age``, ``t_closeness of pay over age``."""
        of = "" if self.confidential is None else f" of {self.confidential}"
        return f"{self.model}{of} over {listing(self.attributes)}"

    @property
    def is_void(self) -> bool:
        """Whether the required level is one that every table reaches, such as t = 1 or p = 1."""
        return self.required == 1 and self.model in _VOID_AT_1

    @property
    def levels(self) -> tuple[str, str]:
        """The required and the achieved level, rounded so that a failure never looks like success."""
        required, achieved = _shown(self.required, self.achieved, self.holds)
        found = dict(self.found)
        both = [(name, asked, found[name]) for name, asked in self.given if name in found]
        if self.required is None or not both:
            return required, achieved
        # all numbers are shown, because a failure of any hidden one would look like success
        pairs = [(name, *_shown(asked, got, self.holds)) for name, asked, got in both]
        pairs.append((self.level, required, achieved))
        return ", ".join(f"{p[0]}={p[1]}" for p in pairs), ", ".join(f"{p[0]}={p[2]}" for p in pairs)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, as in the JSON of ``shoal audit``."""
        return {
            "model": self.model,
            "attributes": list(self.attributes),
            **({} if self.confidential is None else {"confidential": self.confidential}),
            **dict(self.given),
            "level": self.level,
            "required": self.required,
            "achieved": self.achieved,
            **({"found": dict(self.found)} if self.found else {}),
            "holds": self.holds,
            "note": self.note,
        }


_VOID_AT_1 = (
    "t_closeness", "alpha_k", "p_sensitivity", "distinct_l_diversity", "entropy_l_diversity",
)  # fmt: skip


def _shown(required: float | None, achieved: float, holds: bool) -> tuple[str, str]:
    got = f"{achieved:.4g}" if isinstance(achieved, float) else f"{achieved:g}"
    if required is None:
        return "—", got
    asked = f"{required:g}"
    seen = (float(got) - float(asked)) * (achieved - required) > 0
    return (asked, got) if holds or seen else (repr(required), repr(achieved))


SECOND = "row of the second table"  #: linked to a person where the first table shows people's original values


@dataclass(frozen=True, slots=True)
class Attacker:
    """The attacker that a release withstands, and the largest probability with which they link a record.

    Attributes
    ----------
    knows
        ``algorithm``: the attacker may know the algorithm, its parameters, its seed, and all links outside an atom.
        ``table``: k is counted in the table, and an attacker who knows the algorithm may learn more.
    k
        Smallest number of people in an atom.
    share
        The largest share of an atom's records that one person or group holds; None: everyone has one record.
    counted
        What k counts and the share refers to: ``person`` or ``group``; ``pseudonym``, if whole people with all
        their records are exchanged.
    replays
        Number of exchanged inputs that gave equal classes; 0: the method's promise is relied on.
    row
        What is linked to a person: a ``record``, or, if quasi-identifiers are released unchanged in a first table, a
        ``row of the second table``.

    >>> Attacker("algorithm", 5).sentence.partition(", even")[0]
    'By quasi-identifiers alone, the chance of finding the person behind a record is at most 1 in 5'
    """

    knows: str
    k: int
    share: float | None = None
    counted: str = "person"
    replays: int = 0
    row: str = "record"

    @property
    def sentence(self) -> str:
        """The claim, for a report."""
        if self.knows != "algorithm":
            return (
                f"k = {self.k} is counted in the table. Someone who knows the algorithm may learn more: classes can "
                "depend on single records' values or rows."
            )
        if self.counted == "pseudonym":
            return (
                "By quasi-identifiers alone, the chance of finding the person behind a pseudonym, and so behind its "
                f"records, is at most 1 in {self.k}, even for someone who knows the algorithm. {self._basis}"
            )
        if self.share is None:
            return (
                f"By quasi-identifiers alone, the chance of finding the person behind a {self.row} is at most 1 in "
                f"{self.k}, even for someone who knows the algorithm. {self._basis}"
            )
        return (
            f"By quasi-identifiers alone, the chance of finding the {self.counted} behind a {self.row} is at most "
            f"{self.share:g}, the largest share of the records of an atom that one {self.counted} holds, even "
            "for someone who knows the algorithm, unless the order of rows shows which records belong to one "
            f"{self.counted}. {self._basis}"
        )

    @property
    def _basis(self) -> str:
        if self.replays:
            return f"{self.replays:,} exchanged inputs gave the same classes."
        return "This relies on the method's promise, which is tested; no run was replayed."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as in the JSON of ``shoal protect``."""
        bound = None if self.knows != "algorithm" else 1 / self.k if self.share is None else self.share
        return {"knows": self.knows, "at_most": bound, "says": self.sentence}


@dataclass(frozen=True, repr=False)
class Audit(Shown):
    """The independent audit of a table as it is, or as it will be, written."""

    records: int
    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    overall: Finding  #: of k-anonymity over all quasi-identifiers, required or not
    findings: tuple[Finding, ...]
    link: str | None = None  #: the class column, if confidential columns are in a separate table
    unchanged: Unchanged | None = None  #: records made unique by unchanged columns; None: not counted
    attacker: Attacker | None = None  #: the attacker that it withstands; None: not known, as in other audits

    def _card(self) -> Card:
        from shoal.types.cards import audit_card

        return audit_card(self)

    def plot(self) -> Figure:
        """Draw the number of audited classes of each size; needs matplotlib (``shoal[plot]``)."""
        from shoal.types.figures import audit_figure

        return audit_figure(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Points to review before publication, a sentence each; none of them is a failure.

        Many records may be unique on columns that are released unchanged; and all members of a class may share the
        value of a confidential column without requirements.
        """
        unique = "" if self.unchanged is None else self.unchanged.warning
        return tuple(sentence for sentence in (unique, self._uniform()) if sentence)

    def _uniform(self) -> str:
        """Report the classes whose members share a confidential value, for columns without requirements."""
        required = {f.confidential for f in self.findings if f.required is not None and not f.is_void}
        found = {f.confidential: f for f in self.findings if f.uniform[0] and f.confidential not in required}  # finest
        where = [
            f"of {name!r} in {f.uniform[0]:,} of {f.classes:,} classes ({f.uniform[1]:,} records)"
            for name, f in found.items()
        ]
        if not found:
            return ""
        return (
            f"All members share one value {listing(where)}. Anyone who knows someone's "
            f"class learns the value, and nothing that limits this was required of {_these(len(found))}. Require for "
            "example p = 2, or t."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What someone who has the table could learn about a person, a sentence each, with counts."""
        return sentences_of(self)

    @property
    def holds(self) -> bool:
        """Whether every requirement holds."""
        return all(finding.holds for finding in self.findings)

    @property
    def reported(self) -> tuple[Finding, ...]:
        """Levels of confidential columns over all quasi-identifiers, or over the class column, without requirements."""
        over = self.quasi if self.link is None else (self.link,)
        return tuple(
            f
            for f in self.findings
            if f.confidential is not None and f.required is None and f.promised and f.attributes == over
        )

    @property
    def dominance(self) -> float | None:
        """The largest share of a class's weight that one person holds, over all blocks; None: not audited."""
        return max((f.achieved for f in self.findings if f.model == "dominance"), default=None)

    @property
    def population(self) -> dict[str, float]:
        """The levels that count people of a population, by name; empty without one."""
        found = [f for f in self.findings if f.model in ("k_map", "delta_presence")]
        return {name: level for f in found for name, level in ((f.short, f.achieved), *f.found)}

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values, as in the JSON of ``shoal audit``."""
        unpromised = [f.to_dict() for f in self.findings if not f.promised]
        return {
            "records": self.records,
            "classes": self.overall.classes,
            "k": self.overall.achieved,
            **dict(self.overall.found),
            **({} if self.dominance is None else {"dominance": self.dominance}),
            **({"population": people} if (people := self.population) else {}),
            "quasi": list(self.quasi),
            "confidential": {name: self._found_of(name) for name in self.confidential},
            "requirements": [f.to_dict() for f in self.findings if f.required is not None],
            **({"not_promised": unpromised} if unpromised else {}),
            **({} if self.attacker is None else {"attacker": self.attacker.to_dict()}),
        }

    def _found_of(self, name: str) -> dict[str, Any]:
        """Return the levels of a confidential column over all quasi-identifiers, or over the class column."""
        over = self.quasi if self.link is None else (self.link,)
        return {
            f.short: {**dict(f.given), f.level: f.achieved, **dict(f.found)} if f.given or f.found else f.achieved
            for f in self.findings
            if f.confidential == name and f.attributes == over
        }


def _these(columns: int) -> str:
    return "this column" if columns == 1 else "these columns"


@dataclass(frozen=True, slots=True)
class Certificate:
    """A lower bound on the SSE of any partition whose classes all have at least k records.

    Attributes
    ----------
    k
        Smallest size of a class.
    bound
        No partition has a lower SSE.
    how
        How the bound was obtained, each method once; several if strata or blocks of attributes were added up.
    sst
        Total sum of squares of the same points, the basis of percentages.
    sse
        The SSE of a given partition; None without one.

    >>> Certificate(3, 90.0, ("column generation",), 1000.0, 100.0).to_dict()["gap"]
    10.0
    """

    k: int
    bound: float
    how: tuple[str, ...]
    sst: float
    sse: float | None = None

    @property
    def il_bound(self) -> float:
        """The bound in percent of SST: no partition has a lower information loss."""
        return 100.0 * (self.bound / self.sst) if self.sst > 0 else 0.0

    @property
    def il(self) -> float | None:
        """The information loss of the partition, in percent of SST."""
        if self.sse is None:
            return None
        return 100.0 * (self.sse / self.sst) if self.sst > 0 else 0.0

    @property
    def gap(self) -> float | None:
        """The largest part of the SSE that another partition could save, in percent."""
        if self.sse is None:
            return None
        return 100.0 * (max(self.sse - self.bound, 0.0) / self.sse) if self.sse > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values, as in the JSON of ``shoal protect --certify``."""
        return {
            "k": self.k,
            "sse": self.sse,
            "sse_bound": self.bound,
            "il": self.il,
            "il_bound": self.il_bound,
            "gap": self.gap,
            "how": list(self.how),
        }

    @property
    def printed(self) -> dict[str, Any]:
        """The certificate as plain values with 3 significant digits; the gap has at most 2 decimals.

        >>> found = Certificate(3, 90.19, ("column generation",), 1000.0, 100.123).printed
        >>> found["sse"], found["sse_bound"], found["gap"]
        (100.0, 90.2, 9.92)
        """
        figures = {**self.to_dict(), "gap": None if self.gap is None else round(self.gap, 2)}
        return {name: significant(value) if isinstance(value, float) else value for name, value in figures.items()}

    def coarse(self, records: int, attributes: int) -> dict[str, Any]:
        """Return the certificate for publication: rounded like published losses, and the bounds down.

        >>> found = Certificate(3, 90.19, ("column generation",), 2000.0, 100.123).coarse(1000, 2)
        >>> found["il"], found["il_bound"], found["gap"]
        (10.0, 0.0, 100.0)
        """
        whole = float(records * attributes)
        sse, il = (
            None if value is None else coarse(value, records, scale)
            for value, scale in ((self.sse, whole), (self.il, 100.0))
        )
        bound, il_bound = (
            coarse(value, records, scale, "high") for value, scale in ((self.bound, whole), (self.il_bound, 100.0))
        )
        gap = None if il is None else significant(100.0 * max(il - il_bound, 0.0) / il)
        return {**self.to_dict(), "sse": sse, "sse_bound": bound, "il": il, "il_bound": il_bound, "gap": gap}
