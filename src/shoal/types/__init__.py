"""The small frozen values that flow from room to room, from Schema to Reading.

``Source → Table + Schema → Points → Partition → Release → Audit → Readings → Report``

Rows are positions, never index labels. Only numpy is needed to import this module.
"""

from __future__ import annotations

from shoal.types.account import Account
from shoal.types.axis import Axis, Cut
from shoal.types.columns import as_it_was, plain, without_unused
from shoal.types.comparison import Codes, Comparison, Pair
from shoal.types.domain import FROM_THE_DATA, Domain, domains
from shoal.types.explored import Explored
from shoal.types.inspection import Combination, Guess, Inspection
from shoal.types.ledger import CLAIMS, Entry, Ledger
from shoal.types.partition import Block, Partition
from shoal.types.points import (
    Attribute,
    Categories,
    Confidential,
    Footing,
    Numbers,
    Placed,
    Points,
    Requirement,
    Scale,
)
from shoal.types.reading import Reading, Readings
from shoal.types.release import Audit, Certificate, Finding, Release
from shoal.types.resolution import UNITS, Resolution, Step
from shoal.types.setting import Setting
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
from shoal.types.unchanged import Unchanged
from shoal.types.verification import Check, Promise, Verdict, Verification

__all__ = [
    "Resolution",
    "Step",
    "UNITS",
    "Account",
    "as_it_was",
    "Attribute",
    "Audit",
    "Axis",
    "Block",
    "called",
    "Categories",
    "Certificate",
    "CLAIMS",
    "Check",
    "Codes",
    "Column",
    "Columns",
    "Combination",
    "Comparison",
    "Confidential",
    "Cut",
    "Dialect",
    "Domain",
    "domains",
    "Entry",
    "Explored",
    "Finding",
    "Footing",
    "FROM_THE_DATA",
    "Guess",
    "Inspection",
    "Kind",
    "Ledger",
    "Numbers",
    "Pair",
    "Partition",
    "Placed",
    "plain",
    "Points",
    "Promise",
    "Reading",
    "Readings",
    "Release",
    "Requirement",
    "Role",
    "Scale",
    "Schema",
    "Setting",
    "Table",
    "Taxonomy",
    "Unchanged",
    "Verdict",
    "Verification",
    "with_columns",
    "without_unused",
]
