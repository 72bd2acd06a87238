"""``python -m proximity_kernel``, and the command ``proximity-kernel``."""

import sys


def main() -> int:
    """Run the command line and return its exit status; catch Ctrl-C during imports."""
    try:
        from . import cli

        return cli.main()
    except KeyboardInterrupt:
        sys.stderr.write("proximity-kernel: stopped\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
