#!/usr/bin/env python3
"""Every test that docs/DIFFERENCES.md names exists. Called with BUILD_DIR SOURCE_DIR."""
import pathlib
import re
import subprocess
import sys


def known_tests(build_dir):
    """Names of conformance checks, and Suite.name of the other tests of store_test."""
    listing = subprocess.run([str(build_dir / "store_test"), "--gtest_list_tests"],
                             capture_output=True, text=True, check=True).stdout
    known, suite = set(), ""
    for line in listing.splitlines():
        if not line.startswith(" "):
            suite = line.split("#")[0].strip().rstrip(".")
            continue
        name = line.split("#")[0].strip()
        if suite == "stores/Conformance":
            known.add(name.removeprefix("holds/").split("_", 1)[1])
        else:
            known.add(f"{suite}.{name}")
    return known


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
    known = known_tests(build_dir)
    passed = failed = 0
    for number, name in named_tests((source_dir / "docs/DIFFERENCES.md").read_text()):
        if name in known:
            passed += 1
            continue
        failed += 1
        print(f"docs/DIFFERENCES.md:{number}: no test is called {name}")
    if passed == 0:
        failed += 1
        print("docs/DIFFERENCES.md names no test at all")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
