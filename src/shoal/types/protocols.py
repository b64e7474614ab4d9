"""Contracts of families: methods, releases, steering, encoders, sources, sinks, measures, privacy models, attacks.

A component inherits the contract of its family. It must implement the abstract methods; every other attribute has a
default. A default never promises anything: a method whose class does not declare ``promises_k`` does not promise k.

Attributes are declared as annotated literals in the class of the component itself, because the registry reads them
without importing the file. The contracts of streams are in :mod:`shoal.types.stream`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from shoal.errors import ParameterError
from shoal.types.attack import Attempt, Case
from shoal.types.release import Finding, Release
from shoal.types.run import Reading
from shoal.types.table import Column, Columns, Dialect, Kind, Schema, Table

if TYPE_CHECKING:
    from dataclasses import Field

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from shoal.types.attacked import Attacked
    from shoal.types.partition import Comparison, Partition
    from shoal.types.points import Attribute, Points


class Partitioner(Protocol):
    """A method that forms classes: a frozen dataclass in ``partition/`` with the parameter `k`.

    >>> Partitioner.promises_k, Partitioner.promises_t, Partitioner.promises
    (False, False, ())
    """

    promises_k: ClassVar[bool] = False  #: every class has at least k records, whatever the points
    promises_t: ClassVar[bool] = False  #: every class is within t of the table; the method has the parameter `t`
    may_miss_t: ClassVar[bool] = False  #: a given `weight` revokes the promise of t; the partition reports that
    promises: ClassVar[tuple[str, ...]] = ()  #: other privacy models whose levels are parameters of the method
    exchangeable: ClassVar[bool] = False  #: values that change places within an atom leave all classes as they are
    chooses_by_key: ClassVar[bool] = False  #: with `choices` above 1 a secret key, kept in the field `key`, decides
    searches: ClassVar[bool] = False  #: it has the parameter `effort`, and stops at a deadline
    insensitive: ClassVar[bool] = False  #: classes come from an order that does not depend on the data
    forms_blocks: ClassVar[bool] = False  #: it may split the attributes into blocks; k then holds in each block only
    steers: ClassVar[bool] = False  #: it adds an artificial attribute itself
    dimensions: ClassVar[int | None] = None  #: the number of coordinates that it requires; None: any number
    k_counts_with: ClassVar[str] = ""  #: the parameter that must be true for k to limit class sizes
    relative_cost: ClassVar[float] = 20.0  #: processor time, in multiples of a partition by MDAV …
    quadratic: ClassVar[bool] = False  #: … by brute force: the time grows with the square of the number of records …
    cost_of_cell: ClassVar[float] = 0.0  #: … plus seconds for each coordinate of a record …
    cost_of_cut: ClassVar[float] = 0.0  #: … and for each candidate of an optimal cut

    if TYPE_CHECKING:  # for type checkers only: inherited properties would become defaults of dataclass fields
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

        @property
        def k(self) -> int:
            """Smallest number of records in a class."""

    @abstractmethod
    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Assign every point to exactly one class; the points must not be changed."""

    def settled(self, points: Points) -> Self:
        """Return the method with everything fixed that it determines from all points, for use on each stratum."""
        return self

    @classmethod
    def leaves_none_over(cls, n: int, k: int, t: float | None) -> bool:
        """Tell whether `n` records suit the method because all classes then have one size; False by default."""
        return False

    def sorts(self, points: Points) -> bool:
        """Tell whether the classes of these points do not depend on the order of rows, because it sorts them itself."""
        return False


class Releaser(Protocol):
    """A release of classes: a frozen dataclass in ``release/``.

    The audit looks for the model named by `guarantee`. By default it must find k-anonymity in the output itself.
    """

    guarantee: ClassVar[str] = "k_anonymity"  #: key of the privacy model that the audit must find
    as_written: ClassVar[bool] = False  #: it releases cells of the table exactly as they were written
    two_tables: ClassVar[bool] = False  #: confidential columns are released in a second table
    deals_by_key: ClassVar[bool] = False  #: values are assigned by a secret key, kept in the field `key`
    publishes_readings: ClassVar[bool] = False  #: measures of the release may be published
    takes: ClassVar[tuple[str, ...]] = ()  #: recipe fields that are parameters of the release
    fate: ClassVar[str] = "one value per class"  #: how a quasi-identifier is released, in words
    fate_of_confidential: ClassVar[str] = "as it is"  #: how a confidential column is released, in words
    limits: ClassVar[str] = ""  #: what readers of the report must know, in words

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @abstractmethod
    def release(
        self,
        table: Table,
        points: Points,
        partition: Partition,
        weights: NDArray[np.float64] | None,
        rng: np.random.Generator,
    ) -> Release:
        """Return the released columns, in the order of the table; `weights` are those for means."""

    def refuse(self, schema: Schema) -> None:
        """Refuse a table that cannot be released, before any work is done on it; by default none."""
        return


class Steering(Protocol):
    """An artificial attribute that steers a partition: a frozen dataclass in ``steer/``."""

    needs_confidential: ClassVar[bool] = False  #: it uses `points.confidential`

    @abstractmethod
    def coordinates(self, points: Points, columns: Columns) -> NDArray[np.float64]:
        """Return coordinates of shape (n, c), from 0 to 1; their weight is applied by the caller."""


class Encoder(Protocol):
    """A kind of attribute: a frozen dataclass in ``points/`` whose instances are an `Attribute`."""

    kinds: ClassVar[tuple[Kind, ...]] = ()  #: the kinds of columns that it encodes

    @classmethod
    @abstractmethod
    def of(cls, column: Column, cells: pa.ChunkedArray, missing: str, leaves: pa.DataType | None = None) -> Attribute:
        """Return the attribute of a column with at least one value.

        Parameters
        ----------
        column
            Name, role and kind of the column.
        cells
            Its values.
        missing
            Treatment of missing values: ``category``, a value of their own; ``fill``, the value of their class.
        leaves
            The type in which the column is released, if `cells` were put in the order of the column.
        """


class Source(Protocol):
    """An input format: a class in ``io/sources/``, found by the suffix of a file or the scheme of a URL."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    schemes: ClassVar[tuple[str, ...]] = ()
    textual: ClassVar[bool] = False  #: cells are read as text, exactly as they are written
    batched: ClassVar[bool] = False  #: a file can be read in batches

    @classmethod
    def of(cls, dialect: Dialect) -> Self:
        """Return the source that reads text written in this dialect; formats that are not text ignore it."""
        return cls()

    @abstractmethod
    def read(self, at: Any, /, *, names: Collection[str] = ()) -> tuple[pa.Table, Dialect | None]:
        """Return the table at a path or URL, and the dialect to write it again; None: it is not text.

        `names` are columns that the table is known to have: a text format may find its delimiter by them.
        """

    def open(self, path: Path, /, *, names: Collection[str] = ()) -> BatchedFile:
        """Open a file to be read in batches, within bounded memory; only formats that declare `batched` can."""
        raise ParameterError(
            f"{path.name}: this format can only be read into memory as a whole. Convert it to Parquet or CSV."
        )

    def properties(self, path: Path) -> dict[str, str]:
        """Return what a file holds in addition to its table, by name; empty if the format has no place for it."""
        return {}


class BatchedFile(Protocol):
    """An open file whose table is read in batches."""

    @property
    def arrow(self) -> pa.Schema:
        """The columns, with the types that the whole table would have in memory."""

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of a text file; None for other files."""

    @property
    def records(self) -> int | None:
        """The number of records; None: they must be counted."""

    def read(self, columns: Sequence[str] | None, rows: int) -> Iterator[pa.Table]:
        """Yield tables of about `rows` rows, with all columns or some, in this order."""


class Writer(Protocol):
    """A staged file that is written in batches."""

    def write(self, table: pa.Table, /) -> None:
        """Append a table."""


#: Makes a table fit to be written: released values and metadata only, see `shoal.types.released.released`.
Fresh = Callable[["pa.Table"], "pa.Table"]


class Sink(Protocol):
    """An output format: a class in ``io/sinks/``, found by the suffix of a file or the scheme of a URL."""

    suffixes: ClassVar[tuple[str, ...]] = ()
    schemes: ClassVar[tuple[str, ...]] = ()
    textual: ClassVar[bool] = False  #: cells are written as text, exactly as they were read
    batched: ClassVar[bool] = False  #: a file can be written in batches

    @abstractmethod
    def staged(self, at: Any, /, *, force: bool) -> AbstractContextManager[Any]:
        """Yield a hidden target to write to and to read back; it gets its name when the block ends."""

    @abstractmethod
    def staged_both(self, at: Any, other: Any, /, *, force: bool) -> AbstractContextManager[tuple[Any, Any]]:
        """Yield two hidden targets; when the block ends both get their names, or neither does."""

    @abstractmethod
    def write(self, table: pa.Table, target: Any, dialect: Dialect | None, /) -> None:
        """Write a table to a staged target; formats that are not text ignore the dialect."""

    def writer(
        self, path: Path, schema: pa.Schema, dialect: Dialect | None, fresh: Fresh | None = None, /
    ) -> AbstractContextManager[Writer]:
        """Open a staged file to be written in batches; only formats that declare `batched` can.

        The schema is that of the tables that will be written. `fresh` makes them fit to be released; without it, none
        of their metadata is released except notes of statistical packages.
        """
        raise ParameterError(f"{path.name}: this format can only be written from memory. Write Parquet or CSV.")

    def fitted(self, table: pa.Table) -> pa.Table:
        """Return the table in the types of the format; by default it has all of them."""
        return table

    def dialect_for(self, at: Any, dialect: Dialect | None, /) -> Dialect | None:
        """Return the dialect in which a table is written as text, given that of its input; None: not as text."""
        return None


class Reads(Protocol):
    """Common part of both contracts: the declarations of a measure, and its readings.

    A measure is a frozen dataclass in ``utility/`` or ``risk/`` that inherits :class:`Measure` or
    :class:`CombinedMeasure`. It declares only what differs from the defaults. A default promises nothing: a measure
    that does not declare ``exchangeable`` is not published.
    """

    key: ClassVar[str] = ""  #: registry key: the name of the module, unless it is declared
    short: ClassVar[str] = ""  #: name in JSON; empty: the key
    goal: ClassVar[str] = "low"  #: which way is better: ``low`` or ``high``; empty: neither
    range: ClassVar[tuple[float, float]] = (0.0, math.inf)  #: smallest and largest possible value
    unit: ClassVar[str] = ""  #: ``%``, or empty
    quick: ClassVar[bool] = False  #: fast enough to be read by every ``shoal protect``
    exchangeable: ClassVar[bool] = False  #: depends only on which quasi-identifiers were released for which
    by_attribute: ClassVar[bool] = False  #: also read for each attribute separately
    whole_table: ClassVar[bool] = False  #: a sample of the records would give a false value
    adds_up: ClassVar[bool] = False  #: a sum over records and attributes, not a mean
    unpaired: ClassVar[bool] = False  #: the same in whichever order the released rows are
    of: ClassVar[tuple[str, ...]] = ()  #: JSON names of the readings that are combined

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.key = cls.__dict__.get("key") or cls.__module__.rpartition(".")[2]

    @classmethod
    def name(cls) -> str:
        """Return the name in JSON."""
        return cls.short or cls.key

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the measure needs in addition to the compared ones."""
        return ()

    def reading(
        self,
        value: float,
        attributes: tuple[str, ...] = (),
        parts: tuple[tuple[str, float], ...] = (),
        note: str = "",
    ) -> Reading:
        """Return a reading of this measure."""
        return Reading(self.key, value, self.goal, self.range, attributes, self.unit, parts, note, self.short)

    def undefined(self, why: str) -> Reading:
        """Return the reading of a measure that has nothing to measure."""
        return self.reading(math.nan, note=why)


class Measure(Reads, Protocol):
    """A measure of a masked table: how much was lost, or how much an attacker gains."""

    @abstractmethod
    def measure(self, comparison: Comparison) -> Reading:
        """Compare a table before and after; the comparison must not be changed."""


@runtime_checkable
class ControlledMeasure(Reads, Protocol):
    """A risk that attacks on a release measure, for members and for a control of people outside the release.

    It needs no rows that correspond, so it also measures synthetic data.
    """

    without_control: ClassVar[str] = ""  #: remark on :meth:`Measure.measure`, which has no control; a sentence

    @abstractmethod
    def attack(self, attacked: Attacked) -> Reading:
        """Attack members and control records; the tables must not be changed."""


@runtime_checkable
class CombinedMeasure(Reads, Protocol):
    """A measure computed from the readings of others."""

    @abstractmethod
    def value(self, values: Mapping[str, float]) -> float:
        """Return the value from those of `of`, by name; NaN if one of them is."""

    def combine(self, values: Mapping[str, float]) -> Reading:
        """Return the reading from the values of `of`, by name."""
        lacking = [name for name in self.of if math.isnan(values[name])]
        return self.reading(
            self.value(values),
            parts=tuple((name, values[name]) for name in self.of if name not in lacking),
            note=f"There is no reading of {' and '.join(lacking)}." if lacking else "",
        )


class PrivacyModel(Protocol):
    """Common part of both contracts: the declarations of a model, and its findings.

    A model is a frozen dataclass in ``privacy/`` that inherits :class:`TableModel` or :class:`ConfidentialModel`. Its
    parameters are the levels that can be required; with the defaults it audits for information.
    """

    key: ClassVar[str] = ""  #: registry key: the name of the module, unless it is declared
    short: ClassVar[str]  #: short name, as in ``--require``
    level: ClassVar[str]  #: parameter that is required and achieved; others are fixed, or further conditions
    example: ClassVar[str]  #: value for ``--require``
    reported: ClassVar[bool] = False  #: audited for information where it is not required
    of_confidential: ClassVar[bool] = False  #: audits confidential columns
    of_persons: ClassVar[bool] = False  #: audits single people's shares of a class; can be required of any table
    mergeable: ClassVar[bool] = False  #: a table can be audited in parts that each hold whole classes
    more_is_worse: ClassVar[bool] = False  #: a higher level protects less, as that of t-closeness does
    of_population: ClassVar[bool] = False  #: counts records of a population file, without which it cannot be required
    by_replay: ClassVar[bool] = False  #: audits repetitions of the run; can be required of any table to be protected

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.key = cls.__dict__.get("key") or cls.__module__.rpartition(".")[2]

    def finding(
        self,
        attributes: tuple[str, ...],
        achieved: float,
        required: float | None,
        classes: int,
        worst: tuple[tuple[int, float], ...] = (),
        *,
        holds: bool | None = None,
        note: str = "",
        confidential: str | None = None,
        given: tuple[tuple[str, float], ...] = (),
        found: tuple[tuple[str, float], ...] = (),
        uniform: tuple[int, int] = (0, 0),
        sizes: tuple[tuple[int, int], ...] = (),
        promised: bool = True,
    ) -> Finding:
        """Return a finding of this model; see :class:`~shoal.types.Finding` for its parts.

        `holds` can be left out where `achieved` is a count: it holds if it is at least what is required.
        """
        return Finding(
            self.key,
            attributes,
            achieved,
            required,
            required is None or achieved >= required if holds is None else holds,
            classes,
            worst,
            note,
            promised,
            confidential,
            self.short,
            given,
            self.level,
            found,
            uniform,
            sizes,
        )

    def merge(self, parts: Sequence[Finding]) -> Finding:
        """Return the finding of a table from those of its parts; each part holds whole classes.

        The classes that were worst are not listed, because their numbers are known only within their parts.
        """
        levels, notes = [part.achieved for part in parts], {part.note for part in parts}
        names = [name for name, _ in parts[0].found]
        return replace(
            parts[0],
            achieved=max(levels) if self.more_is_worse else min(levels),
            holds=all(part.holds for part in parts),
            classes=sum(part.classes for part in parts),
            worst=parts[0].worst if len(parts) == 1 else (),
            note=parts[0].note if len(notes) == 1 else parts[0].note.partition("; ")[0],
            found=tuple((name, min(dict(part.found)[name] for part in parts)) for name in names),
            uniform=(sum(part.uniform[0] for part in parts), sum(part.uniform[1] for part in parts)),
            sizes=_added(part.sizes for part in parts),
        )


def _added(parts: Iterable[tuple[tuple[int, int], ...]]) -> tuple[tuple[int, int], ...]:
    """Return the class sizes of a table from those of its parts.

    >>> _added([((3, 1), (4, 2)), ((3, 5),)])
    ((3, 6), (4, 2))
    """
    found: Counter[int] = Counter()
    for part in parts:
        found.update(dict(part))
    return tuple(sorted(found.items()))


class TableModel(PrivacyModel, Protocol):
    """A model about the classes of a table."""

    @abstractmethod
    def audit(self, release: Release, attributes: Sequence[str]) -> Finding:
        """Find the level that holds over some columns; every row counts."""


@runtime_checkable
class ConfidentialModel(PrivacyModel, Protocol):
    """A model about the values of a confidential column in each class."""

    of_confidential: ClassVar[bool] = True

    def audit(self, release: Release, attributes: Sequence[str], confidential: Sequence[str]) -> tuple[Finding, ...]:
        """Find the level that holds over some columns, for each confidential column separately."""
        return tuple(self.audit_column(release, tuple(attributes), name) for name in confidential)

    @abstractmethod
    def audit_column(self, release: Release, attributes: tuple[str, ...], confidential: str) -> Finding:
        """Find the level that holds for one confidential column; every row counts."""


class Attack(Protocol):
    """An attack on a release: a frozen dataclass in ``attack/``.

    Its docstring says what the attacker knows and does, which records count as learnt, and what a guess gives.
    """

    key: ClassVar[str] = ""  #: registry key: the name of the module, unless it is declared
    needs: ClassVar[tuple[str, ...]] = ()  #: parts of the case without which it is not run
    quick: ClassVar[bool] = False  #: fast enough to be run by every ``shoal protect``
    stops: ClassVar[bool] = False  #: if it succeeds, ``shoal protect`` writes nothing
    advice: ClassVar[str] = ""  #: what to do if it succeeds, a sentence

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.key = cls.__dict__.get("key") or cls.__module__.rpartition(".")[2]

    @abstractmethod
    def run(self, case: Case) -> Attempt:
        """Attack a release; the case must not be changed."""
