"""The small frozen values that flow from room to room, from Schema to Reading.

``Source → Table + Schema → Points → Partition → Release → Audit → Readings → Report``

Rows are positions, never index labels. Only numpy is needed to import this module.
"""

from __future__ import annotations

from shoal.types.partition import Block, Partition
from shoal.types.points import Attribute, Comparison, Confidential, Footing, Points, Requirement
from shoal.types.release import Audit, Certificate, Finding, Reading, Readings, Release
from shoal.types.table import Column, Columns, Dialect, Kind, Role, Schema, Table, Taxonomy, with_columns

__all__ = [
    "Attribute",
    "Audit",
    "Block",
    "Certificate",
    "Column",
    "Columns",
    "Comparison",
    "Confidential",
    "Dialect",
    "Finding",
    "Footing",
    "Kind",
    "Partition",
    "Points",
    "Reading",
    "Readings",
    "Release",
    "Requirement",
    "Role",
    "Schema",
    "Table",
    "Taxonomy",
    "with_columns",
]
