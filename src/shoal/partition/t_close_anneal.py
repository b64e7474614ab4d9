"""t-close annealing: whole atoms of at least k records, merged and moved until every class is close to the table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from shoal.parameters import Checked, Param
from shoal.partition._atoms import Choice, united
from shoal.partition._shared import confidential, formed_first, refuse_first
from shoal.types import Partition, Points
from shoal.types.protocols import Partitioner


@dataclass(frozen=True)
class TCloseAnneal(Checked, Partitioner):
    """Exchangeable t-closeness: classes are unions of atoms, and atoms are formed from quasi-identifiers alone.

    Another method forms atoms of at least k records by their quasi-identifiers; equal records share an atom. Simulated
    annealing then shifts, exchanges, merges and divides whole atoms, so that every class meets t with little loss. It
    uses the atoms' quasi-identifiers and their *multisets* of confidential values, never which record has which value.

    **Guarantee.** n ≥ k → every record in exactly one class of at least k records, within t of the table in every
    confidential attribute by the earth mover's distance between values, and every other requirement on the points is
    met; at worst one class holds all records. *Exchangeable*: if members of an atom exchange their confidential values,
    the classes stay the same. So someone who knows the algorithm, its parameters, its seed and all links outside an
    atom still cannot link a person of the atom with a probability above the person's share of its records, which is at
    most 1/k where everyone has one record.

    The classes themselves say something about which values are in which atom of a class. With `choices`, one of several
    partitions with little loss is taken by a secret key from the operating system, so that they say less.

    **Complexity.** That of the first method, and O(n log n); then O(s) for each move between classes of s records. The
    number of moves follows from `effort` and the number of atoms. Tables of many atoms are annealed in blocks of whole
    classes.

    **Departures.** None: there is no paper. Among the published methods `t_close_merge` is exchangeable too.

    >>> from shoal.types import Confidential
    >>> pay = Confidential("pay", np.array([0, 1, 4, 5, 2, 3]), np.ones(6, np.int64))
    >>> points = Points(np.array([[0.0], [1.0], [10.0], [11.0], [2.0], [12.0]]), confidential=(pay,))
    >>> TCloseAnneal(k=3, t=0.3).partition(points, np.random.default_rng(0)).labels.tolist()
    [0, 0, 1, 1, 0, 1]
    """

    promises_k: ClassVar[bool] = True
    searches: ClassVar[bool] = True
    promises_t: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True
    chooses_by_key: ClassVar[bool] = True

    k: Annotated[int, Param("Smallest number of records in an atom.", low=2)]
    t: Annotated[float, Param("t-closeness: largest distance (0–1) of a class from the table.", low=0, high=1)]
    first: Annotated[str, Param("The method that forms the atoms, from quasi-identifiers alone.")] = "mdav"
    effort: Annotated[Literal["fast", "default", "best"], Param("Number of moves that annealing tries.")] = "default"
    choices: Annotated[
        int, Param("Number of partitions from which one is taken by a secret key.", low=1, high=1000)
    ] = 1
    key: bytes | None = field(default=None, repr=False)  #: of an earlier run that is repeated; not a parameter

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_first(type(self).__name__, self.first)

    def partition(self, points: Points, rng: np.random.Generator) -> Partition:
        """Form atoms by the first method, then unite them into classes that meet t and every other requirement."""
        confidential(self, points)
        formed = formed_first(type(self).__name__, self.first, self.k, points, rng)
        block, seed = formed.blocks[0], int(rng.integers(1 << 60))
        choice = Choice(self.choices, self.key)
        labels, atoms = united(points, block.labels, self.k, self.t, self.effort, seed, choice)
        return replace(formed, blocks=(replace(block, labels=labels, atoms=atoms),))
