"""``python -m proximity_kernel``, and the command ``proximity-kernel``."""

import sys


def main() -> int:
    """Run the command line; an interrupt during imports shows no traceback."""
    try:
        from . import cli

        return cli.main()
    except KeyboardInterrupt:
        sys.stderr.write("proximity-kernel: stopped\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
