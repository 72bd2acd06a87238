"""Outputs are checked before the work begins: places, clashes, inputs."""

import os

import pytest

from proximity_kernel.cli.outputs import check_outputs
from proximity_kernel.io import InputError


def test_outputs_that_cannot_be(tmp_path):
    (tmp_path / "in.csv").write_text("a")
    (tmp_path / "link.csv").symlink_to(tmp_path / "in.csv")
    source = str(tmp_path / "in.csv")
    for outputs, said in (
        ({"-o": source}, "the input itself"),
        ({"-o": str(tmp_path / "link.csv")}, "the input itself"),
        ({"-o": str(tmp_path)}, "this is a folder"),
        ({"-o": str(tmp_path / "no" / "o.csv")}, "there is no folder"),
        ({"-o": f"{source}/o.csv"}, "cannot be written|no folder"),
        ({"-o": str(tmp_path / ("x" * 300))}, "cannot be written"),
        ({"-o": "o.csv", "--report": "./o.csv"}, "-o writes there too"),
    ):
        with pytest.raises(InputError, match=said):
            check_outputs(outputs, [source, "-", None])
    check_outputs({"-o": str(tmp_path / "o.csv"), "--report": None}, [source])
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_without_the_right_to_write(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="cannot be written"):
        check_outputs({"-o": str(tmp_path / "o.csv")}, [])
