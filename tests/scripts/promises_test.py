"""Every cell of docs/PROMISES.md names tests that exist. Called with BUILD_DIR SOURCE_DIR."""
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


def main():
    source = sys.argv[2]
    names = known_names(source)
    assert list(missing("`no_such_test.cpp` `suite.no_such_case`", names)), "the check finds nothing"
    with open(os.path.join(source, "docs/PROMISES.md"), encoding="utf8") as file:
        text = file.read()
    faults = list(missing(text, names))
    named = len(set(re.findall(r"`([^`]+)`", text)) & names)
    for fault in faults:
        print(f"docs/PROMISES.md names {fault}, which is no test")
    print(f"{named} tests named, {len(faults)} of them missing")
    sys.exit(1 if faults or named < 15 else 0)


main()
