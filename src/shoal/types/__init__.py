"""Frozen values passed between stages, from Schema to Reading.

``Source → Table + Schema → Points → Partition → Release → Audit → Readings → Report``

Rows are positions, never index labels. Only numpy is needed to import this module.
"""

from __future__ import annotations

from shoal.types.contracts.measure import CombinedMeasure, Measure
from shoal.types.contracts.privacy_model import ConfidentialModel, PrivacyModel, TableModel
from shoal.types.data.table import (
    UNITS,
    Column,
    Columns,
    Dialect,
    Kind,
    Resolution,
    Role,
    Schema,
    Step,
    Table,
    Taxonomy,
    as_it_was,
    called,
    plain,
    with_columns,
    without_unused,
)
from shoal.types.results.explored import Explored, Setting
from shoal.types.results.inspection import Combination, Guess, Inspection
from shoal.types.results.planned import Planned
from shoal.types.results.privacy_ledger import CLAIMS, Entry, Ledger
from shoal.types.results.reading import Reading, Readings, Unchanged
from shoal.types.results.release import Audit, Certificate, Finding, Release
from shoal.types.results.run import Run
from shoal.types.results.verification import Check, Promise, Verdict, Verification
from shoal.types.space.axis import FROM_THE_DATA, Axis, Cut, Domain, domains
from shoal.types.space.comparison import Codes, Comparison, Pair
from shoal.types.space.partition import Block, Partition
from shoal.types.space.points import (
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

__all__ = [
    "Resolution",
    "Step",
    "UNITS",
    "Run",
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
    "CombinedMeasure",
    "Comparison",
    "Confidential",
    "ConfidentialModel",
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
    "Measure",
    "Numbers",
    "Pair",
    "Partition",
    "Placed",
    "plain",
    "Planned",
    "Points",
    "PrivacyModel",
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
    "TableModel",
    "Taxonomy",
    "Unchanged",
    "Verdict",
    "Verification",
    "with_columns",
    "without_unused",
]
