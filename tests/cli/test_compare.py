"""Two files of the same table, compared; and the page about a table."""

import re

import numpy as np
import pandas as pd
import pytest
from command_line import run_inside


def make_patients(n_rows, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n_rows)
    return pd.DataFrame(
        {
            "patient_id": [f"P{i:04}" for i in range(n_rows)],
            "age": age,
            "pressure": (90 + age / 2 + rng.normal(0, 5, n_rows)).round(1),
            "ward": rng.choice(["north", "south", "east"], n_rows),
            "day": pd.Timestamp("2020-01-01")
            + pd.to_timedelta(rng.integers(0, 300, n_rows), unit="D"),
        }
    )


@pytest.fixture
def compare(tmp_path, capfd):
    """Compare two frames; return what is printed, and the rows that are written."""

    def run(old, new, *options):
        old.to_csv(tmp_path / "old.csv", index=False)
        new.to_csv(tmp_path / "new.csv", index=False)
        out = tmp_path / "unlike.csv"
        given = (tmp_path / "old.csv", tmp_path / "new.csv", "-o", out, *options)
        assert run_inside("compare", *given, "--quiet") == 0
        return capfd.readouterr().out, pd.read_csv(out)

    return run


def test_the_same_file_has_no_change(compare):
    old = make_patients(200, 0)
    said, rows = compare(old, old)
    assert "By 'patient_id', 200 rows are in both files, 0 only in the old file" in said
    assert "No cell changed in the rows that both files have." in said
    assert "4 columns differ no more than samples of one table usually do." in said
    assert "change (0 to 1)" not in said
    assert said.endswith("The files have the same rows.\n")
    assert len(rows) == 0


def test_rows_are_matched_by_the_ids_of_the_old_file(compare):
    """In another order, whole numbers do not look like ids."""
    old = make_patients(300, 0).assign(patient_id=range(1000, 1300))
    new = old.sample(200, random_state=0)
    said, rows = compare(old, new)
    assert "By 'patient_id', 200 rows are in both files, 100 only in the old" in said
    assert "No cell changed in the rows that both files have." in said
    new.loc[7, "pressure"] = 900.0
    said, rows = compare(old, new)
    assert "row 1007: pressure 900: above" in said
    assert len(rows) == 1


def test_rows_that_are_not_listed_are_counted(compare):
    old = make_patients(300, 0)
    new = old.copy()
    new.loc[:7, "ward"] = [f"new {i}" for i in range(8)]
    said, rows = compare(old, new)
    assert len(rows) == 8
    assert said.count("ward new ") == 5
    assert "and 3 more rows\n" in said


def test_equal_rows_and_a_constant_that_changed_are_counted_once(compare):
    old = make_patients(200, 0).assign(year=2023.0, state="open")
    new = old.assign(year=2024.0)
    said, rows = compare(old, new)
    assert "Every cell of 'year' is new: 2023 to 2024." in said
    assert len(rows) <= 4  # by their other cells
    new = old.copy()
    new.loc[5, "pressure"] = 900.0
    said, rows = compare(old, new.drop(columns="patient_id"))
    assert "199 new rows are equal to an old row, and left out below." in said
    assert "The new row has an outlier score above" in said
    assert rows["pressure"].tolist() == [900.0]


def test_the_place_of_the_largest_difference_is_named(compare):
    """The median is the same, 40."""
    old = pd.DataFrame({"hours": [20.0] * 300 + [40.0] * 450 + [60.0] * 250})
    new = pd.DataFrame({"hours": [20.0] * 300 + [40.0] * 250 + [60.0] * 450})
    said, _ = compare(old, new)
    assert "0.20" in said
    assert "up to 40: 75 % to 55 %" in said
    assert "median" not in said


def test_samples_of_one_table_have_no_change(compare):
    for seed in range(1, 6):
        said, _ = compare(make_patients(200, 0), make_patients(150, seed))
        assert "change (0 to 1)" not in said


def test_what_changed_is_listed(compare):
    old, new = make_patients(200, 0), make_patients(200, 0)
    new["age"] += 15
    new.loc[::2, "ward"] = "north"
    new.loc[::3, "day"] = pd.NaT
    new = new.rename(columns={"pressure": "mmHg"}).iloc[:180]
    said, _ = compare(old, new)
    assert "Only the old file has the column 'pressure'." in said
    assert "Only the new file has the column 'mmHg'." in said
    assert "180 rows are in both files, 20 only in the old file, 0 only in" in said
    lines = {line.split()[0]: line for line in said.splitlines() if " to " in line}
    shares = [(frame["ward"] == "north").mean() for frame in (old, new)]
    north = f"north: {shares[0]:.0%} to {shares[1]:.0%}".replace("%", " %")
    assert north in lines["ward"]
    assert f"median {old['age'].median():g} to {new['age'].median():g}" in lines["age"]
    assert "missing 0 % to 33 %; median 2020-06-09 to 2020-06-08" in lines["day"]
    n_wards = int((old["ward"].iloc[:180] != new["ward"]).sum())
    assert f"'age' (180), 'ward' ({n_wards}) and 'day' (60)." in said


def test_rows_unlike_the_old_ones_are_written_with_reasons(compare):
    old, new = make_patients(300, 0), make_patients(100, 1)
    new.loc[7, "ward"] = "moon"
    new.loc[8, ["age", "pressure"]] = [21, 128.0]
    new.loc[9, "pressure"] = 900.0
    said, rows = compare(old, new)
    reasons = rows.set_index("patient_id")["reasons"]
    assert reasons["P0007"].startswith("ward moon: not in the old file")
    highest = f"above {old['pressure'].max():g}, the highest in the old file"
    assert reasons["P0009"].startswith(f"pressure 900: {highest}")
    assert "P0008" in reasons
    assert len(rows) < 12
    assert list(rows) == [*new, "score", "reasons"]
    assert "2 of 100 new rows have an outlier score above" in said
    assert "; 3 of 300 old rows do, each fifth of them compared" in said
    assert "\nrow P0009: " in said.split("have an outlier score")[1]
    only = "1 other row has new categories or numbers outside the range:"
    assert f"{only}\nrow P0007: " in said


def test_two_halves_of_one_file_are_as_unlike_as_parts_of_the_first(compare):
    """The old rows are scored by models that do not know them, like the new ones."""
    rng = np.random.default_rng(0)
    whole = pd.DataFrame(rng.lognormal(size=(600, 1)) * rng.lognormal(size=(600, 12)))
    whole.columns = [f"x{k}" for k in range(12)]
    shares = []
    for seed in range(3):
        half = np.random.default_rng(seed).random(600) < 0.5
        said, rows = compare(whole[half], whole[~half])
        pattern = r"(\d+) of (\d+) new rows?\b.*?(\d+) of (\d+) old rows?"
        found = [list(map(int, one)) for one in re.findall(pattern, said)]
        shares.append([(a / b, c / d) for a, b, c, d in found])
        assert found[1][2] <= 0.01 * found[1][3]  # the limit is that of 99 %
        assert len(rows) >= found[0][0]
    beyond, unlike = np.mean(shares, axis=0)
    assert beyond[0] == pytest.approx(beyond[1], rel=0.3)
    assert unlike[0] < 0.02


def test_moments_with_a_time_zone_and_in_another_unit(tmp_path, capfd):
    old = make_patients(200, 0)
    old["day"] = old["day"].dt.tz_localize("Europe/Rome")
    new = old.assign(day=old["day"].dt.tz_convert("UTC").astype("M8[ms, UTC]"))
    late = old.assign(day=old["day"] + pd.Timedelta(days=400))
    for name, frame in {"old": old, "new": new, "late": late}.items():
        frame.to_parquet(tmp_path / f"{name}.parquet")

    def compare_days(name):
        given = (tmp_path / "old.parquet", tmp_path / f"{name}.parquet", "--quiet")
        assert run_inside("compare", *given) == 0
        return [line for line in capfd.readouterr().out.splitlines() if "day" in line]

    assert not any("median" in line for line in compare_days("new"))
    assert any("median" in line for line in compare_days("late"))


def test_files_that_cannot_be_compared(tmp_path, capfd):
    (tmp_path / "a.csv").write_text("a,b\n1,x\n2,y\n3,x\n")
    (tmp_path / "b.csv").write_text("c,d\n1,x\n2,y\n3,x\n")
    assert run_inside("compare", tmp_path / "a.csv", tmp_path / "b.csv") == 2
    assert "no column that can be compared with the old" in capfd.readouterr().err
    assert run_inside("compare", tmp_path / "a.csv", "-") == 2
    assert run_inside("compare", tmp_path / "a.csv", tmp_path / "no.csv") == 2
    capfd.readouterr()
    both = (tmp_path / "a.csv", tmp_path / "a.csv")
    assert run_inside("compare", *both, "--matching", "cascade") == 2
    assert "--matching cascade: this command scores" in capfd.readouterr().err


def test_a_page_without_clusters(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_patients(60, 0).to_csv("ward.csv", index=False)
    assert run_inside("report", "ward.csv", "--where", "age > 30") == 0
    assert "report: ward.html" in capfd.readouterr().err
    page = (tmp_path / "ward.html").read_text(encoding="utf-8")
    assert "<title>ward.csv</title>" in page
    assert 'id="clusters"' not in page
    assert run_inside("report", "ward.csv", "-o", "page.pdf") == 2
    assert "ends in .pdf; allowed: .html" in capfd.readouterr().err


@pytest.mark.parametrize(
    "zones", [(None, "UTC"), ("Europe/Berlin", None), ("UTC", "Asia/Tokyo")]
)
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_dates_with_a_zone_in_one_file_only(tmp_path, capfd, zones, unit):
    moments = pd.Series(pd.date_range("2020-01-01", periods=60, tz="UTC"))
    paths = []
    for i, zone in enumerate(zones):
        held = moments.dt.tz_convert(zone).dt.as_unit(unit)
        paths.append(tmp_path / f"{i}.parquet")
        pd.DataFrame({"seen": held, "x": range(60)}).to_parquet(paths[-1])
    assert run_inside("compare", *paths, "--quiet") == 0
    assert "The files have the same rows." in capfd.readouterr().out
