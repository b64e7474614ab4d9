"""Centroid: every member of a class gets the class's mean, with the digits of its column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from shoal.errors import ParameterError
from shoal.parameters import Param
from shoal.release._class_values import ClassValues


@dataclass(frozen=True)
class Centroid(ClassValues):
    """Class mean in place of each quasi-identifier.

    Numbers: the mean, weighted if the table has sampling weights, rounded to the column's own decimals or to the
    declared resolution: integers stay integers. With `exact_means` all digits are released, as float64, and (weighted)
    totals are kept; the digits disclose sums over the members of a class. Dates and times: the mean moment, in whole
    units. Ordered categories: the (weighted) median, the lower of two.

    Categories without an order have no mean. By `categories`, a class is released as ``leaf``, the category of least
    total distance to its members; ``node``, the category or group of the taxonomy of least total distance; or
    ``ancestor``, the lowest group that contains all members, which is true of each. The group above all others is
    ``*``. Names of groups are text, and so is the column then.

    If a method computes the released values itself, these are released, in the column's type, in place of means.

    **Guarantee.** Records of a class are equal in its block's attributes, and the order of its members does not change
    a bit of its values; other columns are unchanged; identifiers and subjects are removed; rows and columns keep their
    order.
    """

    takes: ClassVar[tuple[str, ...]] = ("resolution", "exact_means")
    publishes_readings: ClassVar[bool] = True

    round_integers: Annotated[bool, Param("Always true: integers are released as integers.")] = True
    limits: ClassVar[str] = (  #: for the report: what to know beyond its privacy model
        "Each class is released as the mean of its records, a combination that may belong to no record."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.round_integers:
            raise ParameterError(
                "Centroid: round_integers must be true or left out, got false: integers are released as integers. For "
                "means with all digits set exact_means = true in the recipe."
            )
