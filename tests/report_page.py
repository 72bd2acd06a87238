"""Reading a page of the report: its words, and the data in it."""

import html
import json
import re

from proximity_kernel.report import write_report

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def embedded(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))


def visible(text):
    """The words of a page, one space between them, without scripts and styles."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
    text = text.replace("<wbr>", "")
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def write(tmp_path, table, **options):
    return write_report(tmp_path / "r.html", table, **options).read_text("utf-8")
