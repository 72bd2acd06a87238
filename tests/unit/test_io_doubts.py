"""What may be wrong with a table: reported in one line each, and not changed."""

import io

import pandas as pd

from proximity_kernel.io import read_table
from proximity_kernel.io.doubts import find_dependent_gaps


def read(text, **options):
    return read_table(io.StringIO(text), **options)


def test_a_column_that_is_empty_exactly_where_another_has_a_value():
    back = ["yes" if i % 3 == 0 else "no" for i in range(90)]
    rows = [
        f"{i % 7},{one},{i if one == 'yes' else ''}\n" for i, one in enumerate(back)
    ]
    text = "age,back,days\n" + "".join(rows)
    line = (
        "'days' is empty exactly where 'back' is 'no': it gives 'back' away, and "
        "filling it invents values (`drop` leaves it out)"
    )
    assert line in read(text).assumptions
    almost = text.replace("3,yes,3\n", "3,yes,\n")
    assert not any("exactly" in line for line in read(almost).assumptions)


def test_a_column_that_is_observed_exactly_where_another_has_a_value():
    level = [2.0, 1.0, 0.0] * 30
    frame = pd.DataFrame({"level": level, "dose": [5.0, None, None] * 30})
    frame["when"] = pd.to_datetime(["2020-01-01", "2021-01-01", None] * 30)
    frame["why"] = ["x", "y", None] * 30
    said = find_dependent_gaps(frame)
    assert said[0].startswith(
        "'dose' is observed exactly where 'level' is '2'; "
        "'when' is empty exactly where 'level' is '0'; "
        "'why' is empty exactly where 'level' is '0': they give 'level' away"
    )
    assert not find_dependent_gaps(frame[["when", "why"]])  # missing together
    assert not find_dependent_gaps(frame[:45])  # too few rows
