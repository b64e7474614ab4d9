"""The small frozen values that flow from room to room, from Schema to Reading.

``Source → Table + Schema → Points → Partition → Release → Audit → Readings → Report``

Rows are positions, never index labels. Only numpy is needed to import this module.
"""

from __future__ import annotations

from shoal.types.columns import as_it_was, plain, without_unused
from shoal.types.inspection import Combination, Guess, Inspection
from shoal.types.partition import Block, Partition
from shoal.types.points import (
    Attribute,
    Categories,
    Comparison,
    Confidential,
    Footing,
    Numbers,
    Placed,
    Points,
    Requirement,
    Scale,
)
from shoal.types.release import Audit, Certificate, Finding, Reading, Readings, Release
from shoal.types.table import (
    Column,
    Columns,
    Dialect,
    Kind,
    Role,
    Schema,
    Table,
    Taxonomy,
    called,
    with_columns,
)

__all__ = [
    "as_it_was",
    "Attribute",
    "Audit",
    "Block",
    "called",
    "Categories",
    "Certificate",
    "Column",
    "Columns",
    "Combination",
    "Comparison",
    "Confidential",
    "Dialect",
    "Finding",
    "Footing",
    "Guess",
    "Inspection",
    "Kind",
    "Numbers",
    "Partition",
    "Placed",
    "plain",
    "Points",
    "Reading",
    "Readings",
    "Release",
    "Requirement",
    "Role",
    "Scale",
    "Schema",
    "Table",
    "Taxonomy",
    "with_columns",
    "without_unused",
]
