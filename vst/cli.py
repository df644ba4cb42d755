"""The command line, ``vst``."""

import argparse
import sys

import vst
from vst import file_commands
from vst.companion.driver import commands as book_commands
from vst.companion.driver import reproduce
from vst.companion.experiments import commands as experiment_commands
from vst.companion.protocol import commands as data_commands
from vst.errors import UserError


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the return value is the process's exit code."""
    parser = argparse.ArgumentParser(prog="vst", description=vst.__doc__)
    parser.add_argument("--version", action="version", version=f"vst {vst.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    file_commands.add_parser(commands)
    data_commands.add_parser(commands)
    experiment_commands.add_parser(commands)
    reproduce.add_parser(commands)
    book_commands.add_parser(commands)
    options = parser.parse_args(arguments)
    try:
        return options.run(options) or 0
    except UserError as error:
        print(f"vst: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("vst: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
