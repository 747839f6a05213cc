"""Guards of the architecture and of sizes: what docs/ARCHITECTURE.md and docs/STYLE.md promise.

Called with BUILD_DIR SOURCE_DIR. Every check has a planted fault that it must find (self_test).
"""
import json
import os
import re
import subprocess
import sys

LEVELS = {"base": 0, "core": 1, "token": 1, "format": 1, "net": 2, "store": 3, "search": 3,
          "model": 3, "engine": 4, "server": 5, "cli": 6}
PURE = ["core", "token", "format"]
# Third-party headers: who may include them, and only in a .cpp.
ADAPTERS = {"boost/": [], "openssl/": ["net", "server", "store"], "sqlite3.h": ["store"], "libpq-fe.h": ["store"],
            "toml++/": ["engine"], "fmt/": list(LEVELS), "xxhash.h": ["base"],
            "libstemmer.h": ["core"], "utf8proc.h": ["core"]}
IMPURE = re.compile(
    r"\b(open|open64|openat|fopen|fopen64|read|pread|write|pwrite|fread|fwrite|socket|connect|send|recv|"
    r"poll|epoll_wait|clock_gettime|gettimeofday|time|getrandom|rand|random|getenv|secure_getenv|"
    r"pthread_create|pthread_mutex_lock|usleep|nanosleep)(@|$)"
    r"|std::(__1::)?(mutex|thread|condition_variable|random_device|basic_[io]?f?stream)"
    r"|chrono::.*::now\(|__cxa_guard"
    r"|palimpsest::(system_now|random_log_id|random_u64)\(")


def edge_faults(path, text):
    """Includes that the levels do not allow. A folder sees itself and lower levels."""
    folder = path.split("/")[1] if path.startswith("src/") else None
    for include in re.findall(r'^#include "([^"]+)"', text, re.M):
        target = include.split("/")[0]
        if path.startswith("include/"):
            if target != "palimpsest":
                yield f"{path} includes {include}: public headers see std and palimpsest/ only"
        elif target in LEVELS and target != folder and LEVELS[target] >= LEVELS[folder]:
            yield f"{path} includes {include}: {folder} must not see {target}"
        elif target != "palimpsest" and target not in LEVELS:
            yield f"{path} includes {include}: write the folder, as in \"{folder}/{include}\""


def adapter_faults(path, text):
    for include in re.findall(r"^#include <([^>]+)>", text, re.M):
        for prefix, folders in ADAPTERS.items():
            if not include.startswith(prefix):
                continue
            if path.endswith(".h") or path.split("/")[1] not in folders:
                yield f"{path} includes <{include}>: only a .cpp of {folders} may"
        if "/" in include and not any(include.startswith(p) for p in ADAPTERS) and \
                not include.startswith(("sys/", "netinet/", "arpa/")):
            yield f"{path} includes <{include}>: a library that no adapter has; see ADAPTERS"


def symbol_faults(archive, symbols):
    for symbol in symbols:
        if IMPURE.search(symbol):
            yield f"{archive} needs {symbol}: the pure folders use no file, socket, clock, random or thread"


def function_sizes(text):
    """(first line, length) of every function, read off the indentation that clang-format gives."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        head = re.match(r"^( {0,8})(?!namespace|class|struct|enum|union|constexpr [^(]*=|const [^(]*=|extern|#|//|\}|\{|template|R?\x22)\S.*$", lines[at])
        if not head or "(" not in lines[at]:
            at += 1
            continue
        indent = head.group(1)
        start = at
        while at < len(lines) and not re.search(r"[{;]\s*(//.*)?$", lines[at]):
            at += 1
        if at >= len(lines) or not re.search(r"\{\s*(//.*)?$", lines[at]) or \
                re.match(r"^\s*(if|for|while|switch|else|do|return|case)\b", lines[start]):
            at += 1
            continue
        end = at + 1
        while end < len(lines) and not lines[end].startswith(indent + "}"):
            end += 1
        yield start + 1, end - start + 1
        at = end + 1


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0


def size_facts(files):
    """What the ratchet holds: the worst of everything, so that it can only get better."""
    code = {p: t for p, t in files.items() if p.startswith(("src/", "include/"))}
    lengths = {p: t.count("\n") for p, t in code.items()}
    functions = [(n, f"{p}:{line}") for p, t in code.items() if p.endswith(".cpp")
                 for line, n in function_sizes(t)]
    public = {p: t for p, t in code.items() if p.startswith("include/")}
    return {
        "lines_of_largest_file": max(lengths.values()),
        "lines_per_file_p95": percentile(list(lengths.values()), 0.95),
        "lines_of_longest_function": max(n for n, _ in functions),
        "lines_per_function_p95": percentile([n for n, _ in functions], 0.95),
        "public_headers": len(public),
        "columns": max(len(line) for t in code.values() for line in t.split("\n")),
    }, max(lengths, key=lengths.get), max(functions)[1]


def size_faults(files, limits):
    facts, largest, longest = size_facts(files)
    for name, limit in limits.items():
        if facts[name] > limit:
            yield f"{name} is {facts[name]}, the limit is {limit} (largest file {largest}, longest function {longest})"


def word_faults(path, text):
    for banned in (r"\bTODO\b", r"\bFIXME\b", r"\bXXX\b", r"\bHACK\b"):
        if re.search(banned, text):
            yield f"{path} has {banned}: finish it, or say it in the docs"
    for name in re.findall(r"^(?:class|struct) (\w+)", text, re.M):
        if re.search(r"(Manager|Helper|Util|Impl|Context|Handler)$", name):
            yield f"{path} names a type {name}: say what it is"


def name_faults(files):
    """One name, one type: the same name in two headers is destroyed as the other by the linker."""
    seen = {}
    for path, text in files.items():
        if path.endswith(".h"):
            for name in re.findall(r"^(?:class|struct) (\w+)(?!::)\b(?!::)[^;]*\{", text, re.M):
                if seen.setdefault(name, path) != path:
                    yield f"{name} is defined in {seen[name]} and in {path}"


def format_faults(path, text):
    """A format is known by name to its own files only: what differs is a field of its row."""
    own = re.match(r"src/format/(\w+)/", path)
    for name in re.findall(r"FormatId::(\w+)", text):
        if path.startswith("src/format/") and (not own or own.group(1) != name):
            yield f"{path} names FormatId::{name}: ask the format's row (format_table.h)"
    # Core reads what providers' own requests say of compaction, and what one call is in a trace.
    if path in ("src/core/request_policy.cpp", "src/core/simulate.cpp"):
        return
    if re.search(r"([=!]=|case)\s*FormatId::|FormatId::\w+\s*[=!]=", text):
        yield f"{path} branches on a format's name: ask its row, or make a table"


def tracked(source):
    names = subprocess.run(["git", "-C", source, "ls-files", "-co", "--exclude-standard"],
                           capture_output=True, text=True).stdout.split("\n")
    wanted = [n for n in names if re.match(r"(src|include)/.*\.(h|cpp)$", n)]
    return {n: open(os.path.join(source, n), encoding="utf-8").read() for n in wanted
            if os.path.exists(os.path.join(source, n))}


def pure_symbols(build):
    for folder in PURE:
        archive = os.path.join(build, f"libpal_{folder}.a")
        out = subprocess.run(["nm", "-C", "-u", archive], capture_output=True, text=True, check=True)
        yield archive, [line.strip()[2:] for line in out.stdout.split("\n") if line.strip().startswith("U ")]


def readme_faults(readme, example):
    """The README's C++ is what an example compiles, but for the store it opens."""
    code = readme.split("```cpp\n")[1].split("```")[0].replace("sqlite:palimpsest.db", "memory:")
    for line in code.splitlines():
        if line.strip() not in example:
            yield f"README.md: examples/six_lines.cpp has no line {line!r}"


def self_test():
    long_function = "void f(int a) {\n" + "    x();\n" * 80 + "}\n"
    assert list(edge_faults("src/core/a.cpp", '#include "net/http.h"'))
    assert list(edge_faults("src/core/a.cpp", '#include "token/bpe.h"'))
    assert list(edge_faults("include/palimpsest/a.h", '#include "core/fold.h"'))
    assert list(edge_faults("src/core/a.cpp", '#include "fold.h"'))
    assert not list(edge_faults("src/engine/a.cpp", '#include "core/fold.h"'))
    assert list(adapter_faults("src/core/a.cpp", "#include <sqlite3.h>"))
    assert list(adapter_faults("src/net/a.h", "#include <boost/asio.hpp>"))
    assert list(adapter_faults("src/net/a.cpp", "#include <curl/curl.h>"))
    assert list(symbol_faults("a", ["clock_gettime@GLIBC_2.17"]))
    assert list(symbol_faults("a", ["open"])) and not list(symbol_faults("a", ["palimpsest::open_x(int)"]))
    assert [n for _, n in function_sizes(long_function)] == [82]
    assert list(size_faults({"src/base/a.cpp": long_function, "include/palimpsest/a.h": ""},
                            {"lines_of_longest_function": 60}))
    assert list(format_faults("src/format/render.cpp", "to = FormatId::anthropic;"))
    assert list(format_faults("src/format/gemini/check.cpp", "FormatId::anthropic"))
    assert not list(format_faults("src/format/gemini/check.cpp", "FormatId::gemini"))
    assert list(format_faults("src/server/a.cpp", "if (format == FormatId::anthropic) f();"))
    assert not list(format_faults("src/server/a.cpp", "f(FormatId::anthropic);"))
    assert list(name_faults({"a.h": "struct A {", "b.h": "class A {"}))
    assert not list(name_faults({"a.h": "struct A {", "b.h": "class A;"}))
    assert list(readme_faults("```cpp\nf();\n```", "g();"))
    assert list(word_faults("a", "// TO" + "DO later")) and list(word_faults("a", "class BigManager {"))


def main():
    build, source = sys.argv[1], sys.argv[2]
    self_test()
    files = tracked(source)
    limits = json.load(open(os.path.join(source, "tests/scripts/guards_limits.json")))
    checks = {
        "folders see lower levels only": [f for p, t in files.items() for f in edge_faults(p, t)],
        "third-party headers stay in their adapters": [f for p, t in files.items() for f in adapter_faults(p, t)],
        "pure archives need nothing of the outside world": [f for a, s in pure_symbols(build) for f in symbol_faults(a, s)],
        "sizes stay within their limits": list(size_faults(files, limits)),
        "a name is one type": list(name_faults(files)),
        "a format is known to its own files": [f for p, t in files.items() for f in format_faults(p, t)],
        "the README's C++ compiles": list(readme_faults(
            open(os.path.join(source, "README.md")).read(),
            open(os.path.join(source, "examples/six_lines.cpp")).read())),
        "nothing is left open and types say what they are": [f for p, t in files.items() for f in word_faults(p, t)],
    }
    for name, faults in checks.items():
        print(("ok   " if not faults else "FAIL ") + name)
        for fault in faults[:20]:
            print("     " + fault)
    print("sizes now: " + json.dumps(size_facts(files)[0]))
    failed = sum(1 for faults in checks.values() if faults)
    print(f"{len(checks) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
