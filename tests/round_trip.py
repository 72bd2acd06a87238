"""Random tables in every format: `impute` must write each observed cell as it was.

`scripts/fuzz` calls `check_round_trip` with as many seeds as asked.
"""

import csv
import datetime as dt
import io
import json
import random
from decimal import Decimal

import openpyxl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
from command_line import run_inside

FORMATS = ("csv", "tsv", "parquet", "arrow", "xlsx")
_MARKS = ("", "?", "NA", "-")
_WORDS = ("red", "blue; dark", 'x "y"', "a,b", "=1+1", "é", "new\nline", " pad", "0")
_BERLIN = dt.timezone(dt.timedelta(hours=1))


def _make_text(rng):
    """A function that makes a text of one random form."""
    digits, unit = rng.randrange(5), rng.choice(["", " kg", "%", "€"])
    scale = 10.0 ** rng.randrange(-3, 9)
    day = rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d", "%d %b %Y", "%Y-%m-%dT%H:%M"])
    moment = dt.datetime(2000, 1, 1)
    return rng.choice(
        [
            lambda: f"{rng.gauss(0, scale):.{digits}f}{unit}",
            lambda: f"{rng.randrange(10**7):,}{unit}",
            lambda: str(rng.randrange(10 ** rng.randrange(1, 30))),
            lambda: repr(rng.gauss(0, scale)),
            lambda: (moment + dt.timedelta(hours=rng.randrange(200_000))).strftime(day),
            lambda: rng.choice(_WORDS),
            lambda: rng.choice(["true", "false"]),
            lambda: rng.choice(["<0.5", *(f"{i}.50" for i in range(20))]),
        ]
    )


def _make_typed(rng):
    """An Arrow type, and a function that makes a cell of it."""
    span = rng.choice(["days", "minutes", "milliseconds"])

    def shift():
        return dt.timedelta(**{span: rng.randrange(10**5)})

    def moment(zone=None):
        return dt.datetime(2000, 1, 1, tzinfo=zone) + shift()

    def day():
        return moment().date()

    return rng.choice(
        [
            (pa.int64(), lambda: rng.randrange(-(2**62), 2**62)),
            (pa.int8(), lambda: rng.randrange(-9, 9)),
            (pa.uint64(), lambda: rng.randrange(2**64)),
            (pa.float64(), lambda: rng.gauss(0, 1)),
            (pa.float32(), lambda: rng.randrange(99) / 8),
            (pa.decimal128(20, 3), lambda: Decimal(rng.randrange(10**9)).scaleb(-3)),
            (pa.bool_(), lambda: rng.random() < 0.5),
            (pa.date32(), day),
            (pa.timestamp("ms"), moment),
            (pa.timestamp("us", "+01:00"), lambda: moment(_BERLIN)),
            (pa.string(), lambda: rng.choice(_WORDS)),
            (pa.dictionary(pa.int8(), pa.string()), lambda: rng.choice(_WORDS)),
            (pa.list_(pa.int64()), lambda: [rng.randrange(9)] * rng.randrange(3)),
            (pa.duration("s"), shift if span == "days" else lambda: dt.timedelta(0)),
        ]
    )  # fmt: skip


def make_columns(rng, *, typed):
    """Random columns, with gaps: name -> (type or None, cells)."""
    n_rows = rng.randrange(25, 60)
    columns = {"group": (pa.string(), [rng.choice("ab") for _ in range(n_rows)])}
    for j in range(rng.randrange(1, 6)):
        kind, make = _make_typed(rng) if typed else (None, _make_text(rng))
        share = rng.choice([0, 0.2, 0.6])
        gap = (lambda: None) if typed else (lambda: rng.choice(_MARKS))
        cells = [gap() if rng.random() < share else make() for _ in range(n_rows)]
        columns[f"c{j}"] = (kind, cells)
    return columns


def write_columns(columns, path):
    """Write columns by the packages themselves."""
    cells = {name: values for name, (_, values) in columns.items()}
    rows = [list(cells), *zip(*cells.values(), strict=True)]
    if path.suffix in (".csv", ".tsv"):
        text = io.StringIO(newline="")
        separator = "," if path.suffix == ".csv" else "\t"
        csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
        path.write_text(text.getvalue(), encoding="utf-8", newline="")
    elif path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for i, row in enumerate(rows, 1):
            for j, value in enumerate(row, 1):
                cell = book.active.cell(i, j, value)
                cell.data_type = "s" if isinstance(value, str) else cell.data_type
        book.save(path)
    else:
        table = pa.table(
            {name: pa.array(v, kind) for name, (kind, v) in columns.items()}
        )
        if path.suffix == ".parquet":
            pq.write_table(table, path)
        else:
            with ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)


def read_columns(path):
    """Read the cells of a file by the packages themselves."""
    if path.suffix in (".csv", ".tsv"):
        with path.open(newline="", encoding="utf-8") as file:
            names, *rows = csv.reader(file, delimiter=",\t"[path.suffix == ".tsv"])
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    if path.suffix == ".xlsx":
        names, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    table = pq.read_table(path) if path.suffix == ".parquet" else _read_ipc(path)
    return {name: table[name].to_pylist() for name in table.column_names}


def _read_ipc(path):
    with pa.memory_map(str(path)) as file:
        return ipc.open_file(file).read_all()


def check_round_trip(seed, folder, ending):
    """Fill a random table, and compare every observed cell, its type and its text.

    Returns the number of cells compared.
    """
    rng = random.Random(seed)
    is_text = ending in ("csv", "tsv")
    columns = make_columns(rng, typed=not is_text)
    if ending == "xlsx":  # which has fewer types
        kept = (pa.string(), pa.bool_(), pa.float64(), pa.int8(), pa.float32())
        columns = {name: one for name, one in columns.items() if one[0] in kept}
    source, out = folder / f"t{seed}.{ending}", folder / f"o{seed}.{ending}"
    write_columns(columns, source)
    status = run_inside("impute", source, "-o", out, "--quiet")
    if status == 2:  # no column is left to compare
        return 0
    assert status == 0, (seed, ending)
    before, after = read_columns(source), read_columns(out)
    assert list(before) == list(after), (seed, ending)
    n_cells = 0
    for name, cells in before.items():
        for i, (old, new) in enumerate(zip(cells, after[name], strict=True)):
            if old is None or (is_text and old.strip() in _MARKS):
                continue
            assert (type(old), old) == (type(new), new), (seed, ending, name, i)
            n_cells += 1
    if ending in ("parquet", "arrow"):
        kinds = [pq.read_schema(p) if ending == "parquet" else _read_ipc(p).schema
                 for p in (source, out)]  # fmt: skip
        assert kinds[0].remove_metadata() == kinds[1].remove_metadata(), (seed, ending)
    _check_json(source, folder / f"o{seed}.json", before, seed)
    return n_cells


def _check_json(source, out, before, seed):
    """Whole numbers, text and booleans of typed files are the same in JSON."""
    assert run_inside("impute", source, "-o", out, "--quiet") == 0, (seed, "json")
    rows = json.loads(out.read_text(encoding="utf-8"))
    for name, cells in before.items():
        for row, old in zip(rows, cells, strict=True):
            if source.suffix in (".parquet", ".arrow") and isinstance(old, int):
                assert (type(row[name]), row[name]) == (type(old), old), (seed, name)
