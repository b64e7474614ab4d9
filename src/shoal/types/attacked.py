"""Three tables for attacks with a control: the members of a release, the release, and people outside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from shoal.types.coded import Coded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Trio(NamedTuple):
    """One column of three tables: numbers, NaN for a missing one; or codes of categories, −1 for a missing one."""

    members: NDArray[np.float64]
    released: NDArray[np.float64]
    control: NDArray[np.float64]
    numeric: bool  #: numbers, or ranks of ordered categories


@dataclass(frozen=True, eq=False)
class Attacked:
    """Members, release and control on the same scale; rows of different tables do not correspond.

    Attributes
    ----------
    members, released, control
        Attributes that the attacker knows, shapes (n, d), (r, d) and (c, d): numbers standardised by the members' mean
        and deviation, and categories. Without a control table, `control` has no rows.
    owners
        For each coordinate or column of codes the attribute it belongs to.
    values
        The same attributes in their own units.
    confidential
        Confidential columns of all three tables, in their own units.
    seed
        Random seed, for attacks on a sample.
    """

    members: NDArray[np.float64] | Coded = field(repr=False)
    released: NDArray[np.float64] | Coded = field(repr=False)
    control: NDArray[np.float64] | Coded = field(repr=False)
    owners: tuple[str, ...]
    values: Mapping[str, Trio] = field(default_factory=dict, repr=False)
    confidential: Mapping[str, Trio] = field(default_factory=dict, repr=False)
    seed: int = 0

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that the attacker knows, each once."""
        return tuple(dict.fromkeys(self.owners))

    @property
    def controlled(self) -> bool:
        """Tell whether there is a control."""
        return len(self.control) > 0

    def places(self, names: tuple[str, ...]) -> list[int]:
        """Return the coordinates or columns of codes of some attributes."""
        return [j for j, owner in enumerate(self.owners) if owner in names]
