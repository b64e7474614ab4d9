"""Partition of records into classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Block:
    """Attributes that are partitioned together, and every record's class with respect to them.

    Attributes
    ----------
    attributes
        Their names; for bare points the numbers of the coordinates, or empty if there is one block.
    labels
        The class of every record.
    promised
        Whether every class is guaranteed at least k records, whatever the points. It is audited if so, and noted if
        not.
    values
        Coordinates to release, in the order of the points' coordinates, in place of the class means.
    note
        A note on the block for readers of the audit.
    promised_t
        Whether every class is guaranteed to be within t of the table, if t is required. It is audited if so, and
        noted if not.
    share
        The part of ε, above 0 and up to 1, that the method assumed for the noise of the block; None: it did not.
    moves
        For each coordinate, by how many widths of its domain the list of class means can move in total when one
        record is replaced by another. None: classes depend on the data, and nothing is known.
    strips
        If `moves` is known: the number of strips into which each coordinate's domain was cut to order it.
    """

    attributes: tuple[str, ...]
    labels: NDArray[np.int64] = field(repr=False)
    promised: bool = True
    values: NDArray[np.float64] | None = field(default=None, repr=False)
    note: str = ""
    promised_t: bool = True
    share: float | None = None
    moves: tuple[float, ...] | None = None
    strips: tuple[int, ...] = ()

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records of each class."""
        import numpy as np

        return np.bincount(self.labels).astype(np.int64)

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, eq=False)
class Partition:
    """The classes of the records: one block of attributes, or several disjoint blocks partitioned separately.

    >>> import numpy as np
    >>> part = Partition.of(np.array([0, 0, 1, 1, 1]))
    >>> len(part), part.sizes.tolist()
    (2, [2, 3])
    """

    blocks: tuple[Block, ...]
    note: str = ""  #: a note for the user on how it was formed

    @classmethod
    def of(cls, labels: NDArray[np.int64], attributes: Sequence[str] = ()) -> Partition:
        """Return the partition of one block."""
        return cls((Block(tuple(attributes), labels),))

    @classmethod
    def joined(cls, parts: Sequence[Partition], rows: Sequence[NDArray[np.int64]]) -> Partition:
        """Join partitions of disjoint sets of rows, which must have the same blocks."""
        import numpy as np

        blocks = []
        for pieces in zip(*(part.blocks for part in parts), strict=True):
            first, n = pieces[0], sum(map(len, rows))
            labels, classes = np.empty(n, np.int64), 0
            values = None if first.values is None else np.empty((n, first.values.shape[1]))
            for piece, where in zip(pieces, rows, strict=True):
                if piece.attributes != first.attributes:
                    raise ValueError("parts of a partition must have the same blocks")
                labels[where] = piece.labels + classes
                classes += len(piece)
                if values is not None:
                    values[where] = piece.values
            notes = dict.fromkeys(piece.note for piece in pieces if piece.note)
            promised, close = (all(getattr(piece, name) for piece in pieces) for name in ("promised", "promised_t"))
            share = first.share if all(piece.share == first.share for piece in pieces) else None
            blocks.append(Block(first.attributes, labels, promised, values, "; ".join(notes), close, share=share))
        return cls(tuple(blocks), "; ".join(dict.fromkeys(part.note for part in parts if part.note)))

    @cached_property
    def _all(self) -> Block:
        """The classes over all blocks: records that share a class in every one of them."""
        import numpy as np

        if len(self.blocks) == 1:
            return self.blocks[0]
        labels = self.blocks[0].labels
        for block in self.blocks[1:]:
            labels = np.unique(labels * len(block) + block.labels, return_inverse=True)[1].astype(np.int64)
        return Block(tuple(name for block in self.blocks for name in block.attributes), labels)

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of every record; with several blocks, records that share a class in all of them."""
        return self._all.labels

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records of each class."""
        return self._all.sizes

    def __len__(self) -> int:
        return len(self._all)
