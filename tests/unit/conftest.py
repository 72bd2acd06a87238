"""What tests of several files need."""

import pytest


@pytest.fixture
def put(tmp_path):
    """Write a file, and give its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
