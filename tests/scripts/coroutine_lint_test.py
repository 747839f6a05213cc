"""Coroutines stay where they belong, and clear of what g++ 12.2 miscompiles.

1. co_await, co_return and co_yield appear in src/net and src/server (and their tests) only: the
   library is synchronous.
2. No co_await expression holds a lambda literal or a braced temporary: g++ 12.2 destroys such a
   temporary twice. Name it first, then await.

Usage: coroutine_lint_test.py BUILD_DIR SOURCE_DIR
"""

import pathlib
import re
import sys

ALLOWED = ("src/net/", "src/server/", "tests/net/", "tests/server/", "tests/cli/")
FOLDERS = ("include", "src", "tests", "bench", "fuzz", "examples")
SUFFIXES = (".h", ".cpp")

# Comments and literals, in the order in which a scanner would meet them.
NOISE = re.compile(r"""
    //[^\n]* | /\*.*?\*/                         # comments
    | R"([^()\\ ]*)\(.*?\)\1"                   # raw strings
    | "(?:\\.|[^"\\\n])*"                       # strings
    | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'       # characters, but no digit separators
    """, re.S | re.X)
KEYWORD = re.compile(r"\bco_(?:await|return|yield)\b")
AWAIT = re.compile(r"\bco_await\b")


def blank(match):
    """The same number of characters and lines, without content; a literal stays an operand."""
    text = match.group(0)
    hollow = re.sub(r"[^\n]", " ", text)
    return hollow if text.startswith("/") else '"' + hollow[1:-1] + '"' if len(text) > 1 else hollow


def expression(text, start):
    """The operand of a co_await: up to the end of its statement or of the bracket it stands in."""
    depth = 0
    for at in range(start, len(text)):
        character = text[at]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth < 0:
                return text[start:at]
        elif character == ";" and depth == 0:
            return text[start:at]
    return text[start:]


def fault_in(operand):
    """What is wrong with the operand of a co_await, and where in it; None if nothing is."""
    for at, character in enumerate(operand):
        before = operand[:at].rstrip()
        # A subscript follows a name, a closing bracket or a literal; any other '[' opens a lambda.
        if character == "[" and not re.search(r"[\w\])\"]$", before):
            return at, "a lambda literal"
        if character == "{":
            return at, "a braced temporary"
    return None


def findings(path, text):
    code = NOISE.sub(blank, text)

    def line_of(at):
        return code.count("\n", 0, at) + 1

    if not path.startswith(ALLOWED):
        for match in KEYWORD.finditer(code):
            yield line_of(match.start()), f"{match.group(0)} outside src/net and src/server"
    for match in AWAIT.finditer(code):
        fault = fault_in(expression(code, match.end()))
        if fault:
            yield line_of(match.end() + fault[0]), f"{fault[1]} inside a co_await expression"


SELF_TEST = (
    # path, text, line of the finding or None
    ("src/net/a.cpp", "co_await run([p] { f(p); });", 1),
    ("src/net/a.cpp", "co_await run(a, [=] { f(p); });", 1),
    ("src/net/a.cpp", "co_await\n    run(\n    [] {});", 3),
    ("src/net/a.cpp", "co_await f({.s = \"x\", .p = p});", 1),
    ("src/net/a.cpp", "co_await f(Options{\"x\", p});", 1),
    ("src/net/a.cpp", "auto x = ok ? co_await f(Options{1}) : 0;", 1),
    ("src/net/a.cpp", "if (!co_await f({1, 2})) co_return;", 1),
    ("src/net/a.cpp", "// first\nreturn g(co_await f(T{}));", 2),
    ("src/net/a.cpp", "co_await f(co_await g({}));", 1),
    ("src/core/a.cpp", "int f() { co_return 1; }", 1),
    ("src/engine/a.h", "\n\nco_yield x;", 3),
    ("include/palimpsest/a.h", "co_await x;", 1),
    ("src/net/a.cpp", "auto fn = [p] { f(p); };\nco_await run(fn);", None),
    ("src/net/a.cpp", "auto aw = run([p] {});\nco_await std::move(aw);", None),
    ("src/net/a.cpp", "co_await f(a[1], b()[2], \"{[\", '{');", None),
    ("src/net/a.cpp", "// co_await f({});\n/* co_await f([] {}); */", None),
    ("src/net/a.cpp", "if (co_await f(x)) { g({1}); }", None),
    ("src/net/a.cpp", "while (co_await f(x)) {\n    h([] {});\n}", None),
    ("src/net/a.cpp", "const char* s = R\"(co_await f({}))\";", None),
    ("src/server/a.cpp", "co_return T{1};", None),
    ("src/core/a.cpp", "// co_await is not used here\nconst char* s = \"co_return\";", None),
    ("src/net/a.cpp", "auto n = 1'000'000; co_await f(n);", None),
    ("src/net/a.cpp", "g(1'000); co_await f({1'000});", 1),
)


def main():
    source = pathlib.Path(sys.argv[2])
    passed = failed = 0
    for path, text, expected in SELF_TEST:
        found = [line for line, _ in findings(path, text)]
        if (found[:1] or [None])[0] == expected:
            passed += 1
        else:
            failed += 1
            print(f"self-test: {text!r} in {path}: found at {found}, expected {expected}")
    files = sorted(file for folder in FOLDERS for file in (source / folder).rglob("*")
                   if file.suffix in SUFFIXES)
    for file in files:
        path = file.relative_to(source).as_posix()
        bad = list(findings(path, file.read_text(encoding="utf-8")))
        for line, what in bad:
            print(f"{path}:{line}: {what}")
        passed += not bad
        failed += bool(bad)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
