"""Shapes of text cells that may be numbers, dates or times, though no setting of a text file reads them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from shoal.schema.cells import fits
from shoal.schema.conventions import SHARE
from shoal.types import Dialect, Kind

_MOST = 0.9  # share of the distinct cells that must have a shape
_FEWEST = 3  # of them, to tell anything
_FEW = 10  # distinct cells; fewer are likely categories, such as "3 rooms" and "4 rooms"
_MONTHS = (
    "jan|feb|fev|fév|mar|mär|mrz|maa|mer|apr|avr|abr|may|mai|maj|mei|jun|jui|jul|juil|aug|aou|aoû|ago|sep|set|oct|okt|out"
    "|nov|dec|dez|déc|dic|ene|gen|gio|giu|lug|mag|ott|sty|lut|kwi|cze|lip|sie|wrz|paź|paz|lis|gru"
)
_YEAR = "(18|19|20)[0-9]{2}"
_MONTH = rf"(?i:{_MONTHS})\p{{L}}{{0,7}}\.?"
_CLOCK = r"[0-9]{1,3}:[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?"
#: What cells may be, their shape, and how to write them instead.
_SHAPES = (
    (
        "months",
        rf"^((0?[1-9]|1[0-2])[./-]{_YEAR}|{_YEAR}[./M-](0?[1-9]|1[0-2])|{_MONTH}[ ./-]?('?[0-9]{{2}}|{_YEAR}))$",
        "write the first day of each, such as 1974-12-01",
    ),
    ("quarters", rf"^({_YEAR}[- /]?Q[1-4]|Q[1-4][- /]?{_YEAR})$", "write the first day of each, such as 1974-10-01"),
    (
        "dates with a month or a weekday in words, a time zone or the like",
        rf"^(\p{{L}}{{2,10}}\.?,? )?([0-9]{{1,2}}(\.|st|nd|rd|th|er)?[ -]?{_MONTH}[ -]?([0-9]{{2}}|{_YEAR})"
        rf"|{_MONTH} [0-9]{{1,2}}(st|nd|rd|th)?,? {_YEAR}"
        rf"|[0-9]{{1,4}}[./-][0-9]{{1,2}}[./-][0-9]{{1,4}}[ T]{_CLOCK}.*)$",
        "write them like 1974-12-31",
    ),
    ("days of a year", r"^[0-3]?[0-9]\.[01]?[0-9]\.$", "write whole dates, such as 1974-12-31"),
    (
        "times or durations",
        rf"^({_CLOCK}( ?([AaPp]\.?[Mm]\.?|Uhr))?|[0-9]{{1,2}}[hH][0-5][0-9])$",
        "write their minutes as numbers",
    ),
)
_MONTH_NUMBERS = rf"^((0?[1-9]|1[0-2])\.{_YEAR}|{_YEAR}(0[1-9]|1[0-2]))$"
_GROUPED = r"[0-9]{1,3}([.,'’ \x{a0}\x{202f}\x{2009}][0-9]{3})+([.,][0-9]+)?"
_INDIAN = r"[0-9]{1,2}(,[0-9]{2})+,[0-9]{3}(\.[0-9]+)?"
_AMOUNT = rf"({_INDIAN}|{_GROUPED}|[0-9]+([.,][0-9]+)?)"
_BEFORE = r"[^\p{L}\p{Nd}#]*|(?i:Rs|Fr|CHF|EUR|USD|ca|approx|about|etwa|env)[. ]{0,2}"
_BESIDE = rf"^({_BEFORE})#[^\p{{Nd}}#]{{0,12}}$"
_UNIT = "numbers with a unit or another sign beside them", "write the number alone"
_DIGITS = "numbers in other digits than 0 to 9", "write them with these"
_ANY = r"^[^\p{L}]*[0-9][^\p{L}]*(\p{L}{1,4}[^\p{L}]*)?$"
_KEY = r"^[0-9+()/. -]*$"  # telephone numbers, addresses of computers, codes


def shape_of(read: pa.ChunkedArray) -> tuple[str, str] | None:
    """Return what nearly all of some distinct tidy cells may be, and how to write them; None if there is no sign of it.

    >>> def words(*cells):
    ...     return (shape_of(pa.chunked_array([[*cells]])) or ("",))[0]
    >>> words("12/1974"), words("1974-12"), words("Dez. 1974"), words("08:15 Uhr"), words("1-2"), words("E11.9")
    ('months', 'months', 'months', 'times or durations', '', '')
    >>> words(*(f"{size} cm" for size in range(150, 190))), words("3 rooms", "4 rooms")
    ('numbers with a unit or another sign beside them', '')
    """
    for what, shape, remedy in _SHAPES:
        if _share(read, shape) >= _MOST:
            return what, remedy
    if len(read) < _FEW:
        return None
    if _share(read, r"^[+-]?\p{Nd}+([.,٫]\p{Nd}+)?$") >= _MOST and _share(read, "[0-9]") < _MOST:
        return _DIGITS
    return _UNIT if _one_sign(read) else None


def months_as_numbers(read: pa.ChunkedArray) -> tuple[str, str] | None:
    """Return the same for distinct cells that are read as numbers, but may all be months.

    >>> months_as_numbers(pa.chunked_array([[f"{month}.{year}" for year in (1974, 1975) for month in range(1, 13)]]))[0]
    'months'
    """
    if len(read) > 12 and _share(read, _MONTH_NUMBERS) == 1.0:
        return _SHAPES[0][0], _SHAPES[0][2]
    return None


def padded(read: pa.ChunkedArray) -> Kind | None:
    """Return the kind of distinct tidy cells that are all numbers, some with leading zeros; None if they are not.

    >>> [padded(pa.chunked_array([cells])) for cells in (["05", "17"], ["0005,5", "17"], ["05", "A1"], ["5", "17"])]
    [<Kind.INTEGER: 'integer'>, <Kind.CONTINUOUS: 'continuous'>, None, None]
    """
    if not _share(read, "^[+-]?0[0-9]") or _share(read, r"^[+-]?[0-9]+([.,][0-9]+)?$") < 1.0:
        return None
    return Kind.CONTINUOUS if _share(read, "[.,]") else Kind.INTEGER


def like_values(read: pa.ChunkedArray) -> bool:
    """Tell whether some distinct tidy cells have digits, signs and at most one short word, but are no keys.

    >>> cells = ("12:30:45", "2,4E+03", "48.1, 11.5", "p7", "DE12", "a1b2c3", "+49 30 1234", "10.0.0.1")
    >>> [like_values(pa.chunked_array([[cell]])) for cell in cells]
    [True, True, True, False, False, False, False, False]
    """
    return _share(read, _ANY) >= _MOST and _share(read, _KEY) < 1 - _MOST


def beside_text(read: pa.ChunkedArray, dialect: Dialect) -> tuple[str, str] | None:
    """Return the same as `shape_of` if most distinct cells are numbers or dates, though most records hold other text.

    >>> beside_text(pa.chunked_array([["alive", "1974-12-31", "1975-01-02"]]), Dialect())[0]
    'dates beside other text'
    >>> beside_text(pa.chunked_array([["01067", "80331"]]), Dialect())
    """
    if _share(read, r"^[+-]?0[0-9]+([.,][0-9]+)?$"):
        return None
    for what, kind in (("numbers", Kind.CONTINUOUS), ("dates", Kind.DATETIME)):
        if (pc.sum(fits(read, kind, dialect)).as_py() or 0) >= SHARE * max(len(read), _FEWEST):
            return f"{what} beside other text", "declare that text missing (--missing)"
    return None


def _share(read: pa.ChunkedArray, shape: str) -> float:
    return float(pc.mean(pc.match_substring_regex(read, shape).cast(pa.int8())).as_py() or 0)


def _one_sign(read: pa.ChunkedArray) -> bool:
    """Tell whether nearly all cells are numbers without leading zeros, with one and the same text around them."""
    if pc.any(pc.match_substring_regex(read, "(^|[^0-9.,])0[0-9]")).as_py():
        return False
    around = pc.replace_substring_regex(read, _AMOUNT, "#")
    around = around.filter(pc.match_substring_regex(around, _BESIDE))
    bare = pc.sum(pc.match_substring_regex(around, "^[+-]?#$")).as_py() or 0
    # the two most frequent: with a minus sign, and without
    counts = sorted(pc.value_counts(around).field("counts").to_pylist(), reverse=True)
    return bool(sum(counts[:2]) >= _MOST * len(read) and bare < SHARE * len(read))
