"""Thousands separators in numbers written as text: ``2.835,43``, ``1 234,5``, ``1'234.50``."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from shoal.types import Dialect

#: Characters that stand for a separator: every blank inside a number is one, and so is every apostrophe.
SEPARATORS = {".": ".", ",": ",", " ": " \u00a0\u202f\u2009", "'": "'\u2019"}


def ungrouped(cells: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Return cells without thousands separators, where these are where they belong.

    Groups have three digits, and the first has one to three and does not begin with 0. Commas may also separate groups
    of two digits before the last three, as in India: ``12,34,567``. A cell with a separator anywhere else stays as it
    is, and does not read as a number.

    >>> import pyarrow as pa
    >>> german = Dialect(decimal=",", thousands=".")
    >>> ungrouped(pa.chunked_array([["-1.234.567,50", "12.34,5", "1.2.3"]]), german).to_pylist()
    ['-1234567,50', '12.34,5', '1.2.3']
    >>> ungrouped(pa.chunked_array([["12,34,567.5", "1,234", "1,2,3"]]), Dialect(thousands=",")).to_pylist()
    ['1234567.5', '1234', '1,2,3']
    """
    if dialect.thousands is None:
        return cells
    signs = f"[{re.escape(SEPARATORS[dialect.thousands])}]"
    point = re.escape(dialect.decimal)
    groups = f"[0-9]{{0,2}}({signs}[0-9]{{3}})+"
    if dialect.thousands == ",":
        groups = f"({groups}|[0-9]?(,[0-9]{{2}})+,[0-9]{{3}})"
    grouped = pc.match_substring_regex(cells, rf"^[+-]?[1-9]{groups}({point}[0-9]*)?$")
    if not pc.any(grouped).as_py():
        return cells
    return pc.if_else(grouped, pc.replace_substring_regex(cells, signs, ""), cells)
