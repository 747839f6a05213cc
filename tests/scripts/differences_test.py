#!/usr/bin/env python3
"""Every test that docs/DIFFERENCES*.md name exists. Called with BUILD_DIR SOURCE_DIR."""
import pathlib
import re
import subprocess
import sys


def listed(program):
    """Pairs of suite and name."""
    listing = subprocess.run([str(program), "--gtest_list_tests"], capture_output=True, text=True,
                             check=True).stdout
    suite = ""
    for line in listing.splitlines():
        if not line.startswith(" "):
            suite = line.split("#")[0].strip().rstrip(".")
        else:
            yield suite, line.split("#")[0].strip()


def tests_of_stores(build_dir, _):
    """Names of conformance checks, and Suite.name of the other tests of store_test."""
    for suite, name in listed(build_dir / "store_test"):
        if suite == "stores/Conformance":
            yield name.removeprefix("holds/").split("_", 1)[1]
        else:
            yield f"{suite}.{name}"


def tests_of_turns(build_dir, source_dir):
    """Scenario files, and suite.name of the programs that test turns."""
    for program in ("engine_test", "model_test", "scenarios_test", "server_test"):
        for suite, name in listed(build_dir / program):
            yield f"{suite}.{name}"
    for file in (source_dir / "tests/scenarios").glob("*.scenario"):
        yield file.stem


PAGES = {"docs/DIFFERENCES.md": tests_of_stores, "docs/DIFFERENCES_TURNS.md": tests_of_turns}


def named_tests(text):
    """What stands in backquotes in the second column of a table, and in the last section."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split("|")
        if line.startswith("| ") and len(cells) == 5:
            for name in re.findall(r"`([^`]+)`", cells[2]):
                yield number, name
            # Elsewhere a sentence of at least four words in snake case is a check as well.
            line = cells[1] + cells[3]
        for name in re.findall(r"`([a-z0-9]+(?:_[a-z0-9]+){3,})`", line):
            yield number, name


def main():
    build_dir, source_dir = map(pathlib.Path, sys.argv[1:3])
    passed = failed = 0
    for page, tests in PAGES.items():
        known = set(tests(build_dir, source_dir))
        before = passed
        for number, name in named_tests((source_dir / page).read_text()):
            if name in known:
                passed += 1
                continue
            failed += 1
            print(f"{page}:{number}: no test is called {name}")
        if passed == before:
            failed += 1
            print(f"{page} names no test at all")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
