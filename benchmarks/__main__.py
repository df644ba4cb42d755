"""Run benchmarks by name, or all of them: ``python -m benchmarks training scaling``."""

import argparse
import subprocess
import sys

from benchmarks.measure import ROOT, verdict

NAMES = ("training", "scaling", "prediction", "memory", "start", "models")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Measure speed and memory.")
    parser.add_argument("names", nargs="*", help=f"by default all: {', '.join(NAMES)}")
    names = parser.parse_args().names or NAMES
    if unknown := set(names) - set(NAMES):
        parser.error(f"there is no benchmark {', '.join(unknown)}: choose from {', '.join(NAMES)}")
    for name in names:  # each in its own process: JAX is set up differently
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=ROOT, check=True)
    verdict()


if __name__ == "__main__":
    main()
