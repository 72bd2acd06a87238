"""Pages of the report: tables for them, their words, and the data in them."""

import html
import json
import re

import numpy as np
import pandas as pd

from proximity_kernel.report import TableReport

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
SENTINEL = 990_000_000
_N = 2_000


def embedded(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))


def visible(text):
    """The words of a page, one space between them, without scripts and styles."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
    text = re.sub(r'<wbr>|<span class="whole">([^<]*)</span>', r"\1", text)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def section(text, name):
    """The HTML of a section of a page."""
    pattern = rf'<section id="{name}".*?</section>'
    return re.search(pattern, text, re.DOTALL).group()


def missing_table(text):
    """The table of the missing cells: name -> missing cells, two shares, basis."""
    body = re.search(r"<tbody.*?</tbody>", section(text, "missing"), re.DOTALL).group()
    rows = [
        [
            visible(cell).replace(" ,", ",")
            for cell in re.findall(r"<t[hd][ >].*?</t[hd]>", row, re.DOTALL)
        ]
        for row in re.findall(r"<tr>.*?</tr>", body, re.DOTALL)
    ]
    return {name: rest for name, *rest in rows}


def write(tmp_path, table, **options):
    return (
        TableReport(table, **options).write_html(tmp_path / "r.html").read_text("utf-8")
    )


def messy():
    """Two thousand customers, with slips, codes for missing values and empty cells."""
    rng = np.random.default_rng(7)
    plans = ["basic", "plus", "premium"]
    table = pd.DataFrame(
        {
            "income": rng.lognormal(10.4, 0.35, _N).round(),
            "zip code": (10_115 + rng.geometric(0.02, _N)).astype(str),
            "since": pd.Timestamp("2009-01-01")
            + pd.to_timedelta(rng.integers(0, 5000, _N), unit="D"),
            "city": rng.choice(["Ulm", "Berlin", "Bonn"], _N, p=[0.26, 0.6, 0.14]),
            "balance": rng.normal(0, 500, _N).round(2),
            "visits": rng.poisson(3, _N).astype(float),
        }
    ).mask(rng.random((_N, 6)) < 0.08)
    plan = rng.choice(plans, _N, p=[0.3, 0.5, 0.2])
    table["plan"] = pd.Categorical(plan, plans, ordered=True)
    table["fax"] = np.nan
    table.loc[[5, 50, 500, 1000, 1500], "income"] = SENTINEL
    table.loc[[7, 70], "balance"] = [-1e6, -2e6]
    table.loc[9, "balance"] = 3e6
    table.loc[11, "since"] = pd.Timestamp("2199-12-31")
    return table


def many_columns():
    """Two hundred columns with long names; and no options for the page."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 200)).round(2))
    table.columns = [f"a_rather_long_name_of_a_column_{j}" for j in range(200)]
    return table.mask(rng.random(table.shape) < 0.2), {}


def large():
    """Ten thousand rows of every kind; and no options for the page."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(10_000, 3)), columns=list("abc"))
    table["d"] = rng.choice([f"category {k}" for k in range(40)], len(table))
    table["e"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(table["a"], unit="D")
    table["f"] = table["b"] > 0
    return table.mask(rng.random(table.shape) < 0.1), {}
