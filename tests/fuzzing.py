"""Random inputs against what is promised, with fixed seeds and a budget.

``scripts/fuzz --count 300`` tries each target with the seeds 0 to 299;
``--seconds 60`` tries as many as fit into a minute each; ``--page docs/reliability.md``
writes what happened. The docstrings of the `TARGETS` are its descriptions. With
``--record tries.jsonl`` each try is a line of that file, and a run that was stopped
goes on where it was; ``--count 0`` then writes the page alone. ``--jobs 8`` tries eight
seeds at a time.

Each try is ``target(rng, folder) -> str``, what happened; an exception is a failure.
They run in a process of their own: a crash is found, and the tries after it go on.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import openpyxl
import oracle
import pandas as pd
import round_trip
from attacks import ATTACKS
from command_line import run_inside
from strategies import adopt_weights

from proximity_kernel import (
    ModelFileError,
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
    _groups,
    read_table,
)
from proximity_kernel import _saving as archive
from proximity_kernel.model_file import load_model

ESTIMATORS = (ProximityKernel, ProximityKMeans, ProximityNeighbors, ProximityOutliers)
ROOT = Path(__file__).parents[1]
HANGING = 300  # seconds of a try
WORDS = ("red", "blue", "Zürich", "a,b", 'say "so"', "=1+1", "x y", "007x", "±", "İ")


def make_frame(rng, n_rows=None):
    """Columns of numbers, whole numbers, categories, booleans and dates, with gaps."""
    n = int(rng.integers(4, 40)) if n_rows is None else n_rows
    makers = {
        "float": lambda: np.round(rng.normal(size=n) * 10 ** rng.integers(0, 6), 3),
        "int": lambda: rng.integers(-5, 50, n).astype(float),
        "few": lambda: rng.choice(WORDS[: rng.integers(2, 10)], n),
        "flag": lambda: rng.choice(["yes", "no"], n),
        "date": lambda: (
            np.datetime64("2020-01-01", "ns")
            + rng.integers(0, 900, n).astype("timedelta64[D]")
        ),
    }
    kinds = rng.choice(list(makers), rng.integers(2, 6))
    frame = pd.DataFrame({f"c{j}": makers[kind]() for j, kind in enumerate(kinds)})
    return frame.mask(rng.random(frame.shape) < rng.choice([0.0, 0.1, 0.4]))


def check_definition(rng, folder):  # noqa: ARG001  (as the other targets)
    """A random table and options against `tests/oracle.py`."""
    frame = make_frame(rng).select_dtypes(exclude="datetime")
    frame = frame.loc[:, frame.notna().any()]
    if frame.shape[1] < 1:
        return "no columns"
    matching = str(rng.choice(["pairwise", "cascade"]))
    n_bins = int(rng.integers(2, 7))
    pk = ProximityKernel(
        n_bins, matching=matching, dtype=np.float64, missingness="ignorable"
    ).fit(frame)
    columns = oracle.read_columns(frame)
    reference = oracle.fit(columns, n_bins)
    if matching == "pairwise":
        adopt_weights(pk.model_.matcher, reference.pairwise)
    wanted = oracle.represent(columns, reference, matching)
    got = pk.transform(frame).toarray()
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
    return "equal"


def check_model_file(rng, folder):
    """Bytes of a model file altered, with the checksum made right again or not."""
    frame = make_frame(rng)
    cls = ESTIMATORS[rng.integers(len(ESTIMATORS))]
    options = {"n_clusters": 2} if cls is ProximityKMeans else {}
    path = folder / "m.model"
    cls(**options).fit(frame).save(path)
    if rng.random() < 0.5:
        _alter_meaning(rng, path)
    else:
        _alter_bytes(rng, path)
    try:
        loaded = load_model(path)
    except ModelFileError:
        return "refused"
    with contextlib.suppress(ValueError):  # another table than the altered model's
        answer = getattr(loaded, "transform", loaded.fit)(frame)
        assert answer is not None
    return "loaded, and used"


def _alter_meaning(rng, path):
    """Change a number of an array, or a value of the header; the checksum is right."""
    header, arrays, _ = archive.read_archive(path)
    name = str(rng.choice(list(arrays)))
    if arrays[name].size and rng.random() < 0.5:
        cells = arrays[name].reshape(-1)
        other = cells[rng.integers(len(cells))] if rng.random() < 0.5 else 200
        cells[rng.integers(len(cells))] = other
    else:
        _alter_value(rng, header)
    archive.write_archive(path, header, arrays)


ODD_VALUES = (
    None, True, -1, 0, 3, 2**70, 0.5, 1e308, "", "x", "\x1b[0m", [], {}, ["a"], [[]],
    {"float": "nan"}, {"tuple": [1]}, {"array": ["<U1", [2], ["x" * 9000, "y"]]},
    {"array": ["<f8", [2], [1, 2]]}, {"bytes": "eA=="}, {"mapping": [["a", 1]]},
    {"dtype": "<f4"}, {"scalar": ["<i8", 4]}, {"Timestamp": ["2020-01-01", "UTC"]},
    {"Timestamp": ["2020-01-01", "dateutil//etc/hostname"]}, {"kernel": {}},
    {"Period": ["2020", "Y"]}, {"Interval": [1, 2, "left"]}, {"list": []}, {"no": 1},
)  # fmt: skip


def _alter_value(rng, node):
    """Replace or drop a value somewhere in a tree of lists and mappings."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = keys[rng.integers(len(keys))]
        inner = node[key]
        if not (isinstance(inner, dict | list) and inner) or rng.random() < 0.15:
            break
        node = inner
    if rng.random() < 0.2:
        del node[key]
    else:
        node[key] = ODD_VALUES[rng.integers(len(ODD_VALUES))]


def _alter_bytes(rng, path):
    """Change some bytes or cut the end; the seal may be made right again."""
    content = bytearray(path.read_bytes())
    for _ in range(rng.integers(1, 4)):
        content[rng.integers(len(content))] = rng.integers(256)
    if rng.random() < 0.2:
        del content[rng.integers(len(content)) :]
    path.write_bytes(content)
    if rng.random() < 0.7 and len(content) > 200:
        with path.open("r+b") as file:
            archive._seal(file)


def write_csv(rng, path):
    """Write cells in the forms that people write; returns them as text."""
    n = int(rng.integers(8, 40))
    forms = {
        "decimals": lambda: [f"{x:.2f}" for x in rng.normal(50, 20, n)],
        "whole": lambda: [str(x) for x in rng.integers(0, 500, n)],
        "large": lambda: [str(2**60 + int(x)) for x in rng.integers(0, 10**6, n)],
        "words": lambda: list(rng.choice(["low", "mid", "high"], n)),
        "flags": lambda: list(rng.choice(["TRUE", "FALSE"], n)),
        "money": lambda: [f"${x:.2f}" for x in rng.uniform(1, 90, n)],
        "percent": lambda: [f"{x:.1f}%" for x in rng.uniform(0, 100, n)],
        "dates": lambda: [
            str(np.datetime64("2021-03-01") + int(x)) for x in rng.integers(0, 400, n)
        ],
        "below": lambda: ["<0.5" if x < 0.2 else f"{x:.2f}" for x in rng.random(n)],
    }
    kinds = rng.choice(list(forms), rng.integers(2, 6))
    cells = pd.DataFrame({f"c{j}": forms[kind]() for j, kind in enumerate(kinds)})
    cells = cells.mask(rng.random(cells.shape) < 0.15, "")
    cells.to_csv(path, index=False)
    return cells


def read_text(path):
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def check_csv(rng, folder):
    """A random CSV file through `impute`: observed cells come back byte for byte."""
    source, target = folder / "in.csv", folder / "out.csv"
    cells = write_csv(rng, source)
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        status = run_inside("impute", source, "-o", target)
    if status == 2:
        assert "Traceback" not in said.getvalue()
        return "refused"
    assert status == 0, said.getvalue()
    got = read_text(target)
    for name in cells:
        observed = cells[name] != ""
        assert name in got, f"the column {name} is gone"
        wrong = cells[name][observed] != got[name][observed]
        if wrong.any():
            row = wrong.idxmax()
            raise AssertionError(f"{cells[name][row]!r} became {got[name][row]!r}")
    return "every observed cell came back"


def read_excel(path):
    """The rows that are not empty: an empty row of a sheet is none of its table."""
    cells = pd.read_excel(path, dtype=object)
    # A formula is read as a missing value, but its row is not empty.
    written = [*openpyxl.load_workbook(path).active.iter_rows(values_only=True)][1:]
    empty = [all(cell is None for cell in row) for row in written]
    return cells[~np.array(empty[: len(cells)], bool)].reset_index(drop=True)


WRITERS = {
    "parquet": lambda frame, path: frame.to_parquet(path),
    "arrow": lambda frame, path: frame.to_feather(path),
    "xlsx": lambda frame, path: frame.to_excel(path, index=False),
}
READERS = {
    "parquet": pd.read_parquet,
    "arrow": pd.read_feather,
    "xlsx": read_excel,
}


def check_formats(rng, folder):
    """A Parquet, Arrow or Excel file through `impute`: values and types come back."""
    frame = make_frame(rng)
    kind = str(rng.choice(list(WRITERS)))
    source, target = folder / f"in.{kind}", folder / f"out.{kind}"
    WRITERS[kind](frame, source)
    before = READERS[kind](source)
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        status = run_inside("impute", source, "-o", target)
    if status == 2:
        return "refused"
    assert status == 0, said.getvalue()
    after = READERS[kind](target)
    assert list(before.dtypes) == list(after.dtypes), f"{kind}: {after.dtypes.tolist()}"
    for name in before:
        observed = before[name].notna()
        left, right = before[name][observed].tolist(), after[name][observed].tolist()
        assert [*map(repr, left)] == [*map(repr, right)], f"{kind}: {name} changed"
    return "every observed cell came back"


def check_round_trip(rng, folder):
    """Many types and forms of cells in five formats (`tests/round_trip.py`)."""
    seed, ending = int(rng.integers(2**32)), str(rng.choice(round_trip.FORMATS))
    n_cells = round_trip.check_round_trip(seed, folder, ending)
    return "every observed cell came back" if n_cells else "refused"


def check_damaged(rng, folder):
    """Parquet, Arrow, gzip and Excel files with altered or missing bytes."""
    frame = make_frame(rng, 30)
    kind = str(rng.choice(["parquet", "arrow", "xlsx", "csv.gz"]))
    path = folder / f"damaged.{kind}"
    if kind == "csv.gz":
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    else:
        WRITERS[kind](frame, path)
    content = bytearray(path.read_bytes())
    for _ in range(rng.integers(1, 10)):
        content[rng.integers(len(content))] = rng.integers(256)
    if rng.random() < 0.2:
        del content[rng.integers(len(content)) :]
    path.write_bytes(content)
    try:
        loaded = read_table(path)
    except (ValueError, FileNotFoundError):
        return f"{kind}: refused"
    repr(loaded.frame)
    return f"{kind}: read"


VALUES = (
    None, 0, 1, 2, 3, 4, -1, 0.5, 1e300, float("nan"), "auto", "fine", "pairwise", "x",
    "", True, False, [], [2, 3], {}, np.float32, np.float64, np.int8, (1,), "cascade",
    "informative", "ignorable", 255, 1000,
)  # fmt: skip


def check_options(rng, folder):  # noqa: ARG001  (as the other targets)
    """Random values of constructor arguments."""
    cls = ESTIMATORS[rng.integers(len(ESTIMATORS))]
    name = str(rng.choice(list(cls().get_params(deep=False))))
    value = VALUES[rng.integers(len(VALUES))]
    frame = make_frame(rng, 12)
    try:
        cls(**{name: value}).fit(frame)
    except (ValueError, TypeError) as error:
        if name not in str(error):
            raise AssertionError(f"{name}={value!r} is not named: {error}") from error
        return "refused by name"
    return "fitted"


TARGETS = {
    "definition": check_definition,
    "model files": check_model_file,
    "csv": check_csv,
    "formats": check_formats,
    "round trip": check_round_trip,
    "damaged files": check_damaged,
    "options": check_options,
    **ATTACKS,
}


@dataclass
class Tally:
    """What happened to the seeds of a target."""

    seeds: set[int] = field(default_factory=set)
    outcomes: Counter = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    @property
    def n_tried(self):
        return len(self.seeds)

    def add(self, line):
        """Add what happened to a seed."""
        self.seeds.add(line["seed"])
        if "outcome" in line:
            self.outcomes[line["outcome"]] += 1
        else:
            self.failures.append(f"seed {line['seed']}: {line['failure']}")


def try_seeds(target, seeds, until):
    """Try seeds one after the other, and print a line of JSON for each.

    Groups are looked for in 2 samples of the rows instead of 10: nothing that is tried
    here depends on how many there are, and most of the time was spent on them.
    """
    warnings.simplefilter("ignore")
    _groups.N_SAMPLES, _groups._N_FIRST = 2, 1
    for seed in seeds:
        if time.time() > until:
            return
        faulthandler.dump_traceback_later(HANGING, exit=True)
        line = {"target": target, "seed": seed, **try_seed(target, seed)}
        faulthandler.cancel_dump_traceback_later()
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def try_seed(target, seed):
    """Try a seed in an empty folder: the outcome, or the failure and its place."""
    rng = np.random.default_rng([seed, sum(map(ord, target))])
    with tempfile.TemporaryDirectory() as folder:
        try:
            return {"outcome": TARGETS[target](rng, Path(folder))}
        except BaseException as error:  # noqa: BLE001  (whatever it is: a finding)
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error}"[:200].replace("\n", " ")
            return {"failure": f"{text} ({Path(where.filename).name}:{where.lineno})"}


def run_target(target, count, seconds, tally=None, record=None, jobs=1):
    """Try the seeds of a target in `jobs` processes.

    A `tally` of earlier tries is continued, and each try is written to `record`.
    """
    tally, until = tally or Tally(), time.time() + seconds
    keep = _Keeper(tally, record)
    with ThreadPoolExecutor(jobs) as pool:
        for done in [
            pool.submit(_run_seeds, target, range(first, count, jobs), until, keep)
            for first in range(jobs)
        ]:
            done.result()
    return tally


def _run_seeds(target, seeds, until, keep):
    """Try seeds in a process, and in a new one after a crash."""
    while time.time() < until and (first := keep.find_next(seeds)) is not None:
        command = [sys.executable, __file__, "--child", target]
        command += [f"{first}", f"{seeds.stop}", f"{seeds.step}", f"{until}"]
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True
            ) as child,
        ):
            for text in child.stdout:
                if text.startswith('{"target"'):
                    keep(json.loads(text))
            status = child.wait()
            errors.seek(0)
            last = (errors.read().strip().splitlines() or [""])[-1][:200]
        if status:
            line = {"target": target, "seed": keep.find_next(seeds)}
            keep(line | {"failure": f"ended with {status}: {last}"})


class _Keeper:
    """Keep each try once, in a tally and a record."""

    def __init__(self, tally, record):
        self._tally, self._record, self._lock = tally, record, threading.Lock()

    def __call__(self, line):
        with self._lock:
            if line["seed"] in self._tally.seeds:
                return
            self._tally.add(line)
            if self._record is not None:
                self._record.write(json.dumps(line) + "\n")
                self._record.flush()

    def find_next(self, seeds):
        """Find the first seed that was not tried; None if there is none."""
        return next((one for one in seeds if one not in self._tally.seeds), None)


def hash_sources():
    """Hash the library and the tests: what a seed tries, and what it is tried on."""
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").glob("*.py")]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def name_commit():
    """Name the commit that is checked out; "-dirty" if a file was changed since."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def name_versions():
    """Name the versions of what the tries depend on."""
    python = ".".join(map(str, sys.version_info[:3]))
    return f"Python {python}, numpy {np.__version__}, pandas {pd.__version__}"


def read_record(path):
    """Read the tallies of an earlier run of the same sources, and its versions."""
    tallies, versions, sources = {}, {}, hash_sources()
    for text in path.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if line.get("sources", sources) != sources:
            raise ValueError(f"{path} is of other sources: remove it to start anew")
        if "target" in line:
            tallies.setdefault(line["target"], Tally()).add(line)
        else:
            versions[line["versions"]] = None  # in their order, each once
    return tallies, list(versions)


def write_page(path, tallies, versions=()):
    """Write what was tried, how often, with which versions, and what happened."""
    lines = [
        "# Random tests", "",
        "Written by `scripts/fuzz`. The seeds are fixed:",
        "the same command tries the same inputs.", "",
        f"The commit that was tried: `{name_commit()}`.",
        *(f"With {one}." for one in versions), "",
        "| target | what is tried | tried | what happened | failures |",
        "| --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    for name, tally in tallies.items():
        happened = ", ".join(
            f"{n} {what}" for what, n in sorted(tally.outcomes.items())
        )
        what, n_failed = TARGETS[name].__doc__, len(tally.failures)
        lines.append(f"| {name} | {what} | {tally.n_tried} | {happened} | {n_failed} |")
    found = [
        f"- {name}, {one}" for name, t in tallies.items() for one in t.failures[:5]
    ]
    lines += ["", "## Failures, the first five of each", "", *(found or ["None."])]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run_targets(options):
    """Try the targets one after the other; the page is written after each."""
    path = options.record or Path(os.devnull)
    earlier, versions = read_record(path) if path.is_file() else ({}, [])
    tallies = {}
    with path.open("a", encoding="utf-8") as record:
        if options.count:
            versions = list(dict.fromkeys([*versions, name_versions()]))
            head = {"sources": hash_sources(), "versions": name_versions()}
            record.write(json.dumps(head) + "\n")
        for name in options.target or TARGETS:
            before = earlier.get(name)
            tally = run_target(
                name, options.count, options.seconds, before, record, options.jobs
            )
            tallies[name] = tally
            lines = [f"{name}: {tally.n_tried} tried, {dict(tally.outcomes)}"]
            lines += [f"  {one}" for one in tally.failures]
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()
            if options.page:
                write_page(options.page, tallies, versions)
    return tallies


def main():
    if sys.argv[1:2] == ["--child"]:
        target, first, last, step, until = sys.argv[2:]
        return try_seeds(target, range(int(first), int(last), int(step)), float(until))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10**9, help="tries of each target")
    parser.add_argument("--seconds", type=float, default=60, help="for each target")
    parser.add_argument("--jobs", type=int, default=1, help="seeds tried at a time")
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--page", type=Path, help="the page to write")
    parser.add_argument("--record", type=Path, help="a line for each try; continued")
    tallies = run_targets(parser.parse_args())
    return int(any(tally.failures for tally in tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
