"""What leaves, and what is found of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shoal.errors import listing
from shoal.types.results.reading import significant

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from shoal.types.data.table import Dialect, Schema, Step
    from shoal.types.results.privacy_ledger import Ledger
    from shoal.types.results.reading import Unchanged


@dataclass(frozen=True, eq=False)
class Release:
    """A table as it will leave: identifiers gone, quasi-identifiers replaced class by class."""

    data: pa.Table = field(repr=False)
    schema: Schema  #: of the columns that leave
    dialect: Dialect | None = None
    subjects: pa.ChunkedArray | None = field(
        default=None, repr=False
    )  #: whom each row is about; for the audit, does not leave
    subject_exact: bool = field(default=False, kw_only=True)  #: whether every spelling of a subject is another one
    read: Mapping[str, pa.ChunkedArray] = field(
        default_factory=dict, repr=False
    )  #: cells of text read as values, for the audits that look at values
    origins: Mapping[str, NDArray[np.int64]] = field(
        default_factory=dict, repr=False
    )  #: for each column whose cells are those of other records, which; for the measures, does not leave
    original: pa.Table | None = field(
        default=None, repr=False
    )  #: columns as they were before; for an audit that compares, does not leave
    classes: Mapping[str, NDArray[np.int64]] = field(
        default_factory=dict, repr=False
    )  #: for each of these the class of every record, where it cannot be seen; for the audit, does not leave
    apart: Release | None = field(
        default=None, repr=False
    )  #: a second table that leaves beside it: `link`, and the confidential columns, which are not in this one
    link: str | None = None  #: the column that says in both tables which class a row belongs to
    ledger: Ledger | None = field(default=None, repr=False)  #: where ε went, if noise was added; for the audit
    exact: Mapping[str, pa.Array] | None = field(
        default=None, repr=False
    )  #: rounded columns as they were before; for the measures, not released. None: means are not rounded here
    resolutions: Mapping[str, Step | str] = field(
        default_factory=dict
    )  #: for each column of rounded values the step that they must be multiples of; for the audit
    shuffled: bool = False  #: whether rows are in an order drawn at random; for the audit
    weights: NDArray[np.float64] | None = field(
        default=None, repr=False
    )  #: what each row weighs in the mean of its class; for the audit, not released
    swap_key: bytes | None = field(
        default=None, repr=False
    )  #: the secret key by which values were dealt; for the receipt, not released
    cache: dict[Any, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  #: what the audits found out of it so far; another release begins without

    def values(self, name: str) -> pa.ChunkedArray:
        """Return the values of a column, read where it is written as text."""
        return self.read.get(name, self.data.column(name))


@dataclass(frozen=True, slots=True)
class Finding:
    """What an audit found of one privacy model.

    Attributes
    ----------
    model
        Key of the model, for example ``k_anonymity``.
    attributes
        The columns that were looked at.
    achieved
        The level that really holds.
    required
        The level that was promised; None if the finding is for information.
    holds
        Whether what was required is achieved; True if nothing was.
    classes
        Number of equivalence classes.
    worst
        The worst classes: (number of the class in order of its first row, level).
    note
        What the reader must know to read it rightly.
    promised
        False: whatever was found, the method that made the release does not promise it.
    confidential
        The confidential column that was looked at, for a model that looks at one.
    short
        The short name of the level, as in ``--require``.
    given
        What the level is for, where a model has more than one number: (name, value).
    level
        The name of the number that `achieved` and `required` are about.
    found
        Further numbers that were achieved: (name, value).
    uniform
        For a model that counts confidential values: the number of classes that hold a single value, and of their
        records.

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

    @property
    def subject(self) -> str:
        """What it is about, in words: ``k_anonymity over age``, ``t_closeness of pay over age``."""
        of = "" if self.confidential is None else f" of {self.confidential}"
        return f"{self.model}{of} over {listing(self.attributes)}"

    @property
    def levels(self) -> tuple[str, str]:
        """What is required and what is achieved, rounded for people, but never so that a failure looks like success."""
        required, achieved = _shown(self.required, self.achieved, self.holds)
        found = dict(self.found)
        both = [(name, asked, found[name]) for name, asked in self.given if name in found]
        if self.required is None or not both:
            return required, achieved
        # more than one number decides: all of them are shown, or a failure of one would look like success
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


def _shown(required: float | None, achieved: float, holds: bool) -> tuple[str, str]:
    got = f"{achieved:.4g}" if isinstance(achieved, float) else f"{achieved:g}"
    if required is None:
        return "—", got
    asked = f"{required:g}"
    seen = (float(got) - float(asked)) * (achieved - required) > 0
    return (asked, got) if holds or seen else (repr(required), repr(achieved))


@dataclass(frozen=True)
class Audit:
    """What the independent audit found in a table as it is, or as it will be, written."""

    records: int
    quasi: tuple[str, ...]
    confidential: tuple[str, ...]
    overall: Finding  #: of k-anonymity over all quasi-identifiers, required or not
    findings: tuple[Finding, ...]
    link: str | None = None  #: the column that says the class, where confidential columns are in a table of their own
    unchanged: Unchanged | None = None  #: what columns that are released unchanged single out; None: not counted

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a data steward should look at before the table is published, a sentence each; nothing that fails.

        Many records may be unique by columns that are released unchanged; and all members of a class may share the
        value of a confidential column of which nothing was required.
        """
        unique = "" if self.unchanged is None else self.unchanged.warning
        return tuple(sentence for sentence in (unique, self._uniform()) if sentence)

    def _uniform(self) -> str:
        """Say in how many classes all members share a confidential value; only of columns with no requirement."""
        required = {f.confidential for f in self.findings if f.required is not None}
        found = {f.confidential: f for f in self.findings if f.uniform[0] and f.confidential not in required}
        where = [
            f"of {name!r} in {f.uniform[0]:,} of {f.classes:,} classes ({f.uniform[1]:,} records)"
            for name, f in found.items()
        ]
        if not found:
            return ""
        return (
            f"All members of a class share one value: {listing(where)}. Anyone who knows someone's "
            f"class learns the value, and nothing was required of {_these(len(found))}. Require for example p = 2, "
            f"or t."
        )

    @property
    def holds(self) -> bool:
        """Whether everything that was required holds."""
        return all(finding.holds for finding in self.findings)

    @property
    def dominance(self) -> float | None:
        """The largest share of a class's weight that one person holds, over all blocks; None: it was not audited."""
        return max((f.achieved for f in self.findings if f.model == "dominance"), default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain values, as in the JSON of ``shoal audit``."""
        unpromised = [f.to_dict() for f in self.findings if not f.promised]
        return {
            "records": self.records,
            "classes": self.overall.classes,
            "k": self.overall.achieved,
            **dict(self.overall.found),
            **({} if self.dominance is None else {"dominance": self.dominance}),
            "quasi": list(self.quasi),
            "confidential": {name: self._found_of(name) for name in self.confidential},
            "requirements": [f.to_dict() for f in self.findings if f.required is not None],
            **({"not_promised": unpromised} if unpromised else {}),
        }

    def _found_of(self, name: str) -> dict[str, Any]:
        """Return the levels of a confidential column over all quasi-identifiers, or over what says the class."""
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
        Least size of a class.
    bound
        No partition has a lower SSE.
    how
        How the bound was obtained, each way once; more than one where strata or blocks of attributes were added up.
    sst
        Total sum of squares of the same points, to which percentages refer.
    sse
        What a partition reached; None if none was given.

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
        """The information loss that was reached, in percent of SST."""
        if self.sse is None:
            return None
        return 100.0 * (self.sse / self.sst) if self.sst > 0 else 0.0

    @property
    def gap(self) -> float | None:
        """How much of the SSE reached another partition could save at most, in percent."""
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
    def published(self) -> dict[str, Any]:
        """The certificate as plain values with 3 significant digits; the gap has 2 decimals at most.

        >>> found = Certificate(3, 90.19, ("column generation",), 1000.0, 100.123).published
        >>> found["sse"], found["sse_bound"], found["gap"]
        (100.0, 90.2, 9.92)
        """
        figures = {**self.to_dict(), "gap": None if self.gap is None else round(self.gap, 2)}
        return {name: significant(value) if isinstance(value, float) else value for name, value in figures.items()}
