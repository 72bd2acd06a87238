"""Targets of `fuzzing` for promises about files, types, limits, privacy and terminals.

Devices are always made in the folder of the try; those of the machine are never named.
"""

import contextlib
import inspect
import io
import os
import re
import signal
import socket
import stat
import threading
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from command_line import run_inside

from proximity_kernel import (
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityKNNClassifier,
    ProximityKNNRegressor,
    ProximityNeighbors,
    ProximityOutliers,
    TableReport,
    explain,
    read_table,
)

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
GIGABYTES = 6  # for a file of at most a megabyte


class Terminal(io.TextIOWrapper):
    """A stream that is taken for a terminal."""

    def isatty(self):
        return True


def run_quietly(*arguments, stream=io.TextIOWrapper):
    """Run a command; its status and what it printed. A traceback is a failure."""
    said = stream(io.BytesIO(), "utf-8")
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        status = run_inside(*arguments)
    said.flush()
    text = said.buffer.getvalue().decode()
    assert "Traceback" not in text, text[-300:]
    return status, text


def write_plain(rng, path, n=30):
    """Write a small table of numbers and labels with missing cells."""
    table = pd.DataFrame(
        {
            "a": rng.integers(0, 9, n).astype(float),
            "b": rng.choice(["x", "y", "z"], n),
            "c": np.round(rng.normal(size=n), 2),
        }
    )
    table.mask(rng.random(table.shape) < 0.1).to_csv(path, index=False)


# -------------------------------------------------------------------------- outputs


def _make_place(kind, path, source):
    """Make what is at the place of an output; None if that is not possible here."""
    if kind == "null":
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif kind == "hard link":
        path.hardlink_to(source)
    elif kind == "link":
        path.symlink_to(source)
    elif kind.startswith("0"):
        path.write_bytes(b"old")
        path.chmod(int(kind, 8))


OPTIONS = {
    "-o": ("impute", ".csv"),
    "--uncertainty": ("impute", ".csv"),
    "--report": ("cluster", ".html"),
    "--profiles": ("cluster", ".csv"),
    "--save-model": ("represent", ".model"),
}
PLACES = ("null", "pipe", "socket", "hard link", "link", "free", "0644", "0600", "0640",
          "0444", "0400")  # fmt: skip


def check_outputs(rng, folder):
    """An output that is a device, a pipe, a socket, an input, read-only or private."""
    source = folder / "my täble.csv"
    write_plain(rng, source)
    mode = int(rng.choice([0o644, 0o600, 0o640]))
    source.chmod(mode)
    before = source.read_bytes()
    option = str(rng.choice(list(OPTIONS)))
    command, ending = OPTIONS[option]
    kind = str(rng.choice(PLACES))
    path = folder / f"out put é{ending}"
    try:
        _make_place(kind, path, source)
    except OSError:
        return f"{kind}: cannot be made here"
    others = sorted(one.name for one in folder.iterdir())
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    if kind == "pipe":
        reader.start()
    given = [command, source, option, path, "--quiet"]
    given += ["-k2"] * (command == "cluster")
    status, text = run_quietly(*given, *(["-o", folder / "o.csv"] * (option != "-o")))
    assert source.read_bytes() == before, "the input was changed"
    left = {one.name for one in folder.iterdir()} - {*others, "o.csv", path.name}
    assert not left, f"left: {left}"
    found = stat.S_IFMT(path.lstat().st_mode) if status == 0 or kind != "free" else None
    kept = {"null": stat.S_IFCHR, "pipe": stat.S_IFIFO, "socket": stat.S_IFSOCK}
    if kind in kept:
        assert found == kept[kind], f"{kind} became {found:o}"
    if kind in ("socket", "hard link", "link", "0444", "0400"):
        assert status == 2, (status, text)
        assert kind[0] != "0" or path.read_bytes() == b"old"
        return f"{kind}: refused"
    assert status == 0, text
    if kind == "pipe":
        reader.join(30)
        assert got[0], "nothing came through the pipe"
    elif kind != "null":
        wanted = 0o600 if mode != 0o644 else 0o666 & ~_read_umask()
        wanted = int(kind, 8) if kind != "free" else wanted
        assert stat.S_IMODE(path.stat().st_mode) == wanted
    return f"{kind}: written"


def _read_umask():
    now = os.umask(0)
    os.umask(now)
    return now


# ---------------------------------------------------------------------------- types


def _draw_cells(rng, kind, n):
    """Draw cells of an Arrow type, or None if they cannot be made from numbers."""
    whole = pa.array(rng.integers(0, 100, n))
    if pa.types.is_dictionary(kind):
        labels = pa.array(["x", "y", "z"]) if kind.value_type == pa.string() else (
            pa.array([3, 1, 2]).cast(kind.value_type)
        )  # fmt: skip
        return pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 3, n)), labels)
    if pa.types.is_boolean(kind):
        return pa.array(rng.random(n) < 0.5)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.array([f"b{i % 4}".encode() for i in range(n)], kind)
    if pa.types.is_list(kind):
        return pa.array([[1, 2], [3]] * (n // 2) + [[4]] * (n % 2), kind)
    if pa.types.is_struct(kind):
        return pa.array([{"u": i % 3} for i in range(n)], kind)
    if pa.types.is_null(kind):
        return pa.nulls(n)
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        return pa.array([f"t{i}" for i in rng.integers(0, 4, n)]).cast(kind)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return whole.cast(pa.int32()).cast(kind)
    if pa.types.is_date64(kind):
        return pa.array(whole.to_numpy() * 86_400_000).cast(kind)
    return whole.cast(kind)


TYPES = (
    pa.null(), pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(),
    pa.uint32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
    pa.decimal128(9, 2), pa.decimal128(38, 18), pa.decimal256(50, 4), pa.date32(),
    pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"),
    pa.timestamp("us", "Europe/Berlin"), pa.duration("s"), pa.duration("ns"),
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(),
    pa.list_(pa.int64()), pa.struct({"u": pa.int64()}),
    pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int8(), pa.int64()),
    pa.dictionary(pa.int16(), pa.float64()),
)  # fmt: skip
FORMS = ("pandas", "pandas of Arrow types", "polars", "pyarrow", "parquet", "arrow",
         "xlsx")  # fmt: skip
COMMANDS = ("look", "cluster", "neighbors", "outliers", "compare", "report",
            "represent", "explain", "impute")  # fmt: skip
CLASSES = (ProximityKernel, ProximityKMeans, ProximityNeighbors, ProximityOutliers,
           ProximityImputer, ProximityKNNClassifier, ProximityKNNRegressor, explain,
           TableReport)  # fmt: skip
N_USES = 2  # of a table, in one try
STRIDE = 1009  # from case to case; no factor of their number, so that all are tried


def check_types(rng, folder):
    """Every Arrow type, with and without values, in seven forms, used everywhere."""
    seed, _ = rng.bit_generator.seed_seq.entropy
    turns = -(-len(CLASSES) // N_USES)  # there are as many classes as commands
    at, turn = divmod(seed * STRIDE, turns)
    at, form = divmod(at, len(FORMS))
    at, how = divmod(at, 3)
    kind, form, how = TYPES[at % len(TYPES)], FORMS[form], ("none", "some", "all")[how]
    where = f"{kind}, {how} missing, {form}"
    uses = slice(N_USES * turn, N_USES * turn + N_USES)
    try:
        table = _make_typed_table(rng, folder, kind, how, form)
    except BaseException:  # noqa: BLE001  (polars panics if it cannot hold it)
        return "cannot be made"
    if isinstance(table, Path):
        outcomes = [_use_file(table, one, where) for one in COMMANDS[uses]]
    else:
        outcomes = [_use_table(table, one, where) for one in CLASSES[uses]]
    return " and ".join(sorted(set(outcomes)))


def _make_typed_table(rng, folder, kind, how, form, n=24):
    """Make a table of which one column, "odd", has a type; or the path of a file."""
    cells = _draw_cells(rng, kind, n)
    missing = {"none": np.zeros(n, bool), "some": rng.random(n) < 0.3}
    missing |= {"all": np.ones(n, bool)}
    at = pa.array(np.where(missing[how], None, np.arange(n)), pa.int64())
    views = kind == pa.string_view()  # of which arrow cannot take some yet
    cells = cells.cast(pa.string()).take(at).cast(kind) if views else cells.take(at)
    table = pa.table({"odd": cells, "b": [1.0, 2.0, None] * 8, "c": ["x", "y"] * 12})
    path = folder / f"in.{form}"
    if form == "parquet":
        pa.parquet.write_table(table, path)
    elif form == "arrow":
        pa.feather.write_feather(table, path)
    elif form == "xlsx":
        table.to_pandas().to_excel(path, index=False)
    elif form == "polars":
        return pl.from_arrow(table)
    elif form.startswith("pandas"):
        return table.to_pandas(types_mapper=pd.ArrowDtype if " " in form else None)
    return path if path.exists() else table


def _list_methods(cls):
    """List the methods that take a table and nothing else that must be given."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        first, *others = [*inspect.signature(method).parameters.values()][1:] or [None]
        needed = [one for one in others if one.default is one.empty]
        plain = not name.startswith(("_", "fit", "set_")) and first is not None
        if plain and first.name == "X" and not needed:
            yield name


def _use_table(table, cls, where):
    """Fit a class to a table, and call all its methods with it."""
    try:
        if cls is explain:
            explain(ProximityKernel().fit(table), table[:1], table[1:2])
            return "used"
        if cls is TableReport:
            TableReport(table)._repr_html_()
            return "used"
        predicts = cls in (ProximityKNNClassifier, ProximityKNNRegressor)
        fitted = cls().fit(table, *[np.arange(24) % 3] * predicts)
        for method in _list_methods(cls):
            getattr(fitted, method)(table)
        if hasattr(cls, "fit_batches"):
            cls().fit_batches([table[:9], table[9:]])
    except (ValueError, TypeError) as error:
        if "odd" not in str(error):
            text = f"{where}, {cls.__name__}: not named: {error}"
            raise AssertionError(text) from error
        return "refused by name"
    return "used"


def _use_file(path, command, where):
    """Run a command with a file."""
    more = {"compare": [path], "explain": ["1", "2"], "cluster": ["--quiet"]}
    given = [command, path, *more.get(command, [])]
    if command == "report":
        given += ["-o", path.with_suffix(".html")]
    elif command != "look":
        given += ["-o", path.with_name(f"out{path.suffix}")]
    status, text = run_quietly(*given)
    assert status in (0, 2), f"{where}, {command}: {text[-200:]}"
    assert status == 0 or "odd" in text, f"{where}, {command}: {text[-200:]}"
    return "used" if status == 0 else "refused by name"


# ------------------------------------------------------------------------ encodings


ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1", "shift_jis", "euc_jp",
             "gb18030", "big5", "euc_kr", "cp1251", "koi8-r", "mac_roman")  # fmt: skip
LETTERS = "aZ éüßÆ “”— жЩ 日本語テキスト 한국 中文 ±€ \x81\x8d\x90"


def check_encodings(rng, folder):
    """A text file in any encoding: exact if it is named, else exact or refused."""
    encoding = str(rng.choice(ENCODINGS))
    allowed = [one for one in LETTERS if _can_encode(one, encoding)]
    words = sorted({"w" + "".join(rng.choice(allowed, 4)).strip() for _ in range(5)})
    cells = [words[i % len(words)] for i in range(40)]
    path = folder / "t.csv"
    text = "".join(f"{word},{i % 7}\n" for i, word in enumerate(cells))
    path.write_bytes(f"word,number\n{text}".encode(encoding))
    how = {"encoding": encoding.replace("utf-8-sig", "utf-8")}
    named = read_table(path, categorical=["word"], **how)
    assert named.frame["word"].astype(str).tolist() == cells, encoding
    try:
        guessed = read_table(path, categorical=["word"]).frame["word"].astype(str)
    except ValueError as error:
        if "encoding" not in str(error):
            raise
        return "exact if named, else refused"
    assert "\ufffd" not in "".join(guessed), f"{encoding}: characters were lost"
    assert guessed.nunique() == len(words), f"{encoding}: different texts are equal"
    if encoding.startswith("utf"):
        assert guessed.tolist() == cells
    return "exact if named, else texts stay different"


def _can_encode(letter, encoding):
    try:
        return letter.encode(encoding).decode(encoding) == letter
    except UnicodeError:
        return False


# ---------------------------------------------------------------------------- shapes


def _draw_shape(rng):
    """Draw a text of at most a megabyte in an odd shape; large ones are rarer."""
    n = int(10 ** rng.triangular(1, 1, 3.7))
    blank, numbers = " " * int(10 ** rng.uniform(1, 4.5)), ",".join(map(str, range(n)))
    shapes = {
        "wide": f"{','.join(f'c{i}' for i in range(n))}\n{numbers}\n{numbers}\n",
        "equal names": f"{','.join(['a'] * n)}\n{numbers}\n{numbers}\n",
        "long": "a,b\n" + "1,x\n2,y\n" * (n // 2),
        "long cell": f"a,b\n1,{'x' * n * 10}\n2,y\n3,z\n",
        "blank cell": f"a,b\n1 kg,x\n{blank}2 kg,y\n3{blank}kg,z\n4 kg,{blank}\n",
        "quotes": f'a,b\n1,"{chr(34) * 2 * n}"\n2,y\n3,z\n',
        "open quote": f'a,b\n1,"{"x" * n}\n' + "2,y\n" * 50,
        "one line": "1" * n * 10,
        "separators": "," * n + "\n" + "," * n + "\n",
        "digits": f"a,b\n{'9' * min(n, 5000)},x\n2,y\n3,z\n",
        "dates": "a,b\n"
        + "".join(f"{i % 28 + 1}.0{i % 9 + 1}.2020,x\n" for i in range(n)),
        "titles": "title\n" * min(n, 3000) + "a,b,c\n1,2,3\n4,5,6\n",
        "lines ends": "\r\n\r" * n + "a,b\n1,2\n3,4\n",
    }
    kind = str(rng.choice(list(shapes)))
    return kind, shapes[kind][: 2**20]


def _allow_seconds(text):
    """Seconds of processor time for a text, in proportion to its columns and lines."""
    lines = text.splitlines() or [""]
    return 3 + 0.005 * max(line.count(",") for line in lines) + 0.001 * len(lines)


@contextlib.contextmanager
def limited(seconds):
    """Limit the processor time and the memory; more is a failure of the try."""
    import resource  # not on Windows

    def stop(*_):
        raise TimeoutError(f"more than {seconds:.1f} s of processor time")

    before = resource.getrlimit(resource.RLIMIT_AS)
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    with open("/proc/self/statm") as file:  # noqa: PTH123  (no file of ours)
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + GIGABYTES * 2**30, before[1]))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)


def check_shapes(rng, folder):
    """A text file of odd shape: 3 s, 5 ms a column, 1 ms a line, 6 GiB at most."""
    kind, text = _draw_shape(rng)
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8", newline="")
    command = str(rng.choice(["look", "impute"]))
    more = ["-o", folder / "o.csv"] if command == "impute" else []
    with limited(_allow_seconds(text)):
        status, said = run_quietly(command, path, "--quiet", *more)
    assert status in (0, 2), f"{kind}: {said[-200:]}"
    assert status == 0 or len(said) < 2000, (
        f"{kind}: a message of {len(said)} characters"
    )
    return f"{kind}: {'read' if status == 0 else 'refused'}"


# --------------------------------------------------------------------------- privacy


def check_privacy(rng, folder):
    """Ids, texts that are left out, and labels below `min_count` in model files."""
    n = int(rng.integers(40, 200))
    labels = rng.choice(
        [f"label-{i}-" for i in range(12)], n, p=rng.dirichlet(np.ones(12))
    )
    table = pd.DataFrame(
        {
            "patient_id": [f"SECRET{rng.integers(10**9):09d}" for _ in range(n)],
            "x": labels,
            "y": rng.choice(["u", "v"], n),
            "remark": [f"said hidden-{rng.integers(10**9)} to me" for _ in range(n)],
        }
    ).mask(rng.random((n, 4)) < 0.05)
    table.to_csv(folder / "t.csv", index=False)
    path = folder / "m.model"
    if rng.random() < 0.5:
        command = str(rng.choice(["represent", "impute", "outliers", "cluster"]))
        given = [folder / "t.csv", "-o", folder / "o.csv", "--save-model", path]
        given += ["--quiet"]
        status, text = run_quietly(command, *given, *["-k2"] * (command == "cluster"))
        assert status == 0, text
        held = path.read_bytes()
        assert b"SECRET" not in held, f"{command}: an id"
        assert b"hidden-" not in held, f"{command}: a remark"
        return "no ids, no remarks"
    least = int(rng.integers(2, 12))
    frame = table[["x", "y"]]
    ProximityKernel().fit(frame).save(path, min_count=least)
    held = path.read_bytes()
    for label, count in frame["x"].value_counts().items():
        assert (label.encode() in held) == (count >= least), f"{label}: {count} rows"
    loaded = ProximityKernel.load(path)
    counts = loaded.model_.matcher.counts
    for some in (counts.totals, counts.pairs):
        assert ((some == 0) | (some >= least)).all(), "a small count"
    assert np.isfinite(loaded.transform(frame).toarray()).all()
    return "no rare labels, no small counts"


# --------------------------------------------------------------------------- escapes


def check_escapes(rng, folder):
    """Control characters in cells, names, file names and arguments, on a terminal."""
    odd = [
        *map(chr, (*range(1, 9), *range(11, 32), *range(127, 160))),
        "\u202e",
        "\u2028",
    ]
    odd = [one for one in odd if one not in "\n\r"]

    def draw():
        return "k" + "".join(rng.choice([*odd, "[2J", "]0;t\x07", "a"], 3)) + "e"

    labels, names = [draw() for _ in range(4)], [f"{draw()}{i}" for i in range(3)]
    rows = [
        f'"{labels[i]}",{rng.integers(9) or ""},"{labels[i // 2]}"'
        for i in rng.integers(0, 4, 30)
    ]
    path = folder / f"t{draw()}.csv".replace("/", "")
    header = ",".join(f'"{one}"' for one in names)
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8", newline="")
    options = {
        "look": [], "cluster": ["-k2"], "neighbors": ["-k2"], "outliers": ["--top=2"],
        "represent": [], "impute": ["--format=csv"],
        "explain": ["1", "2"],
    }  # fmt: skip
    command = str(rng.choice(list(options)))
    given = [command, path, *options[command]]
    if rng.random() < 0.4:
        given += [str(rng.choice(["--drop", "--id", "--sep", "--model"])), draw()]
    with mock.patch.dict(os.environ, {"TERM": "dumb"}):  # no colors
        status, said = run_quietly(*given, stream=Terminal)
    path.unlink()
    found = sorted(set(CONTROLS.findall(said)))
    assert not found, f"{command} printed {found}"
    assert status in (0, 2), said[-200:]
    return "shown" if status == 0 else "refused"


# ------------------------------------------------------------------- batches and ties


def _draw_rows(rng, n, make_frame):
    frame = make_frame(rng, n)
    return frame.loc[:, frame.notna().any()]


def check_batches(rng, folder):  # noqa: ARG001  (as the other targets)
    """A row alone and the same row among others: the same values of the same type."""
    from fuzzing import make_frame

    frame = _draw_rows(rng, 30, make_frame)
    if frame.shape[1] < 2:
        return "no columns"
    rows = frame.astype(object).where(frame.notna(), None).to_numpy().tolist()
    imputer = ProximityImputer().fit(rows)
    whole = imputer.transform(rows)
    first = int(rng.integers(29))
    some = rows[first : first + int(rng.integers(1, 4))]
    alone = imputer.transform(some)
    for one, other in zip(alone, whole[first:], strict=False):
        assert [*map(repr, one)] == [*map(repr, other)], f"{one} and {other}"
    kernel = ProximityKernel(dtype=np.float64).fit(frame)
    part = frame.iloc[first : first + 2]
    left, right = kernel.transform(part), kernel.transform(frame)[first : first + 2]
    assert (left != right).nnz == 0, "another representation"
    return "equal"


def check_ties(rng, folder):  # noqa: ARG001
    """Nearest rows in a table with many ties, in any dtype, threads and block."""
    n, width = int(rng.integers(10, 60)), int(rng.integers(2, 5))
    cells = rng.integers(0, 3, (n, width)).astype(object)
    cells[rng.random(cells.shape) < 0.15] = None
    frame = pd.DataFrame(cells, columns=[f"c{j}" for j in range(width)])
    frame = frame.astype("Int64").astype(str).where(frame.notna())
    bins = [None, "auto", 3][rng.integers(3)]
    k = int(rng.integers(1, n))
    answers = []
    for dtype, jobs in ((np.float32, 1), (np.float64, 1), (np.float64, 2)):
        kernel = None if bins is None else ProximityKernel(bins, dtype=dtype)
        model = ProximityNeighbors(k, kernel=kernel, n_jobs=jobs).fit(frame)
        answers.append(model.kneighbors(frame))
    distances, indices = answers[0]
    for other in answers[1:]:
        assert (other[1] == indices).all(), "another order"
    tied = np.diff(distances, axis=1) == 0
    assert (np.diff(indices, axis=1)[tied] > 0).all(), "a tie to the higher index"
    at = int(rng.integers(n))
    alone = model.kneighbors(frame.iloc[[at]])[1]
    assert (alone[0] == indices[at]).all(), "another order in another block"
    return f"equal, {'with' if tied.any() else 'without'} ties"


ATTACKS = {
    "outputs": check_outputs,
    "types": check_types,
    "encodings": check_encodings,
    "odd shapes": check_shapes,
    "privacy": check_privacy,
    "escapes": check_escapes,
    "batches": check_batches,
    "ties": check_ties,
}
