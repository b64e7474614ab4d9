"""Frozen values passed between stages, from Schema to Reading.

``Source → Table + Schema → Points → Partition → Release → Audit → Readings → Report``

Rows are positions, never index labels. Only numpy is needed to import this module.
"""

from __future__ import annotations

from shoal.types.attack import Attempt, Attempts, Case
from shoal.types.attacked import Attacked, Trio
from shoal.types.axis import FROM_THE_DATA, Axis, Cut, Domain, domains
from shoal.types.coded import Coded, CodedColumn, changes, coded, distances, some_of, sort_keys, stacked
from shoal.types.explored import Explored, Setting
from shoal.types.inspection import Combination, Guess, Inspection, SpecialUniques
from shoal.types.partition import Block, Codes, Comparison, Pair, Partition
from shoal.types.points import (
    Attribute,
    Averaged,
    Categories,
    CodedAttribute,
    Confidential,
    Footing,
    Numbers,
    Placed,
    PlacedAttribute,
    Points,
    Requirement,
    Scale,
)
from shoal.types.privacy_ledger import CLAIMS, Entry, Ledger
from shoal.types.protocols import (
    Attack,
    CombinedMeasure,
    ConfidentialModel,
    ControlledMeasure,
    Measure,
    PrivacyModel,
    TableModel,
)
from shoal.types.release import SECOND, Attacker, Audit, Certificate, Finding, Reference, Release
from shoal.types.run import Planned, Reading, Readings, Run, Unchanged
from shoal.types.table import (
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
    in_one_piece,
    plain,
    with_columns,
    without_unused,
)
from shoal.types.verification import Check, Promise, Verdict, Verification

__all__ = [
    "SECOND",
    "Attacked",
    "Attacker",
    "Resolution",
    "SpecialUniques",
    "Step",
    "UNITS",
    "Run",
    "as_it_was",
    "Attack",
    "Attempt",
    "Attempts",
    "Attribute",
    "Averaged",
    "Audit",
    "Axis",
    "Block",
    "called",
    "Case",
    "Categories",
    "Certificate",
    "CLAIMS",
    "Check",
    "Coded",
    "changes",
    "coded",
    "distances",
    "some_of",
    "sort_keys",
    "stacked",
    "CodedAttribute",
    "CodedColumn",
    "Codes",
    "Column",
    "Columns",
    "Combination",
    "CombinedMeasure",
    "Comparison",
    "Confidential",
    "ConfidentialModel",
    "ControlledMeasure",
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
    "PlacedAttribute",
    "plain",
    "Planned",
    "Points",
    "PrivacyModel",
    "Promise",
    "Reading",
    "Readings",
    "Reference",
    "Release",
    "Requirement",
    "Role",
    "Scale",
    "Schema",
    "Setting",
    "Table",
    "TableModel",
    "Taxonomy",
    "Trio",
    "Unchanged",
    "Verdict",
    "Verification",
    "in_one_piece",
    "with_columns",
    "without_unused",
]
