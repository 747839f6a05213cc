"""Every cell of the tables "store x event" of docs/PROMISES.md names tests that exist, or says that
nothing was run. Called with BUILD_DIR SOURCE_DIR."""
import os
import re
import sys


def known_names(source):
    tests = os.path.join(source, "tests")
    names = {name for _, _, files in os.walk(tests) for name in files}
    for folder, _, files in os.walk(tests):
        for name in files:
            if name.endswith(".cpp"):
                with open(os.path.join(folder, name), encoding="utf8") as file:
                    for suite, case in re.findall(r"TEST(?:_[PF])?\((\w+),\s*(\w+)\)", file.read()):
                        names.add(f"{suite}.{case}")
    for folder, _, files in os.walk(os.path.join(source, "src/store/conformance")):
        for name in files:
            with open(os.path.join(folder, name), encoding="utf8") as file:
                names.update(re.findall(r'^    \{"(\w+)",', file.read(), re.M))
    return names


def missing(text, names):
    """Names in backquotes that look like a test and are none."""
    for name in re.findall(r"`([^`]+)`", text):
        looks = re.fullmatch(r"\w+_test\.(py|cpp)|store_\w+\.py|\w+\.[a-z]\w+_\w+|[a-z]+(_[a-z]+){4,}", name)
        if looks and name not in names:
            yield name


def unproven(text, names):
    """Cells that claim something and name no test."""
    for table in re.findall(r"^\| event .*\n(?:\|.*\n)+", text, re.M):
        for row in table.splitlines()[2:]:
            event, *cells = [cell.strip() for cell in row.strip("|").split(" | ")]
            for cell in cells:
                named = set(re.findall(r"`([^`]+)`", cell)) & names
                said = re.search(r"not run here|the same (test|check|two)|\bas redis\b|^–", cell, re.I)
                if not named and not said:
                    yield f"{event}: {cell}"


def main():
    source = sys.argv[2]
    names = known_names(source)
    assert list(missing("`no_such_test.cpp` `suite.no_such_case`", names)), "the check finds nothing"
    with open(os.path.join(source, "docs/PROMISES.md"), encoding="utf8") as file:
        text = file.read()
    faults = list(missing(text, names))
    assert list(unproven("| event | x |\n| --- | --- |\n| fire | kept |\n", names))
    claims = list(unproven(text, names))
    for claim in claims:
        print(f"docs/PROMISES.md promises without a test: {claim}")
    named = len(set(re.findall(r"`([^`]+)`", text)) & names)
    for fault in faults:
        print(f"docs/PROMISES.md names {fault}, which is no test")
    print(f"{named} tests named, {len(faults)} of them missing")
    sys.exit(1 if faults or claims or named < 15 else 0)


main()
