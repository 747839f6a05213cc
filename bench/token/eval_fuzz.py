#!/usr/bin/env python3
"""eval_fuzz.py BUILD: our encodings against tiktoken's, id by id.

- npm tiktoken@1.0.22: a million random strings, every code point in four surroundings, the corpora of
  bench_tokens.py (PAL_FUZZ_STRINGS sets another number of strings, PAL_FUZZ_SEED another seed).
- PyPI tiktoken: bytes that are not UTF-8, as its core takes them, and the special tokens of
  o200k_harmony, which the other does not have (but for one: its id has two spellings).
Both come from their registries into build/peers. Exit status 1 if anything differs.
"""
import os, random, struct, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bench_tokens as bench

STRINGS = os.environ.get("PAL_FUZZ_STRINGS", "1000000")
SEED = os.environ.get("PAL_FUZZ_SEED", "1")

# Runs in the environment that has tiktoken: writes records for diff_tokens.
PYPI = """
import random, struct, sys, tiktoken
random.seed(int(sys.argv[1]))
parts = [b" ", b"  ", b"\\n", b"a", b"word", b"'s", b"12", b"!", b"\\t\\n ", "\u00e9\u6f22".encode(), b"\\xff", b"\\xc3", b"\\xe4\\xbd", b"\\xf0\\x9f\\x98", b"\\xed\\xa0\\x80", b"\\xc0\\xaf", b"\\x80"]
def emit(name, specials, text, ids):
    sys.stdout.buffer.write(struct.pack("<B", len(name)) + name.encode() + struct.pack("<BI", specials, len(text)) + text + struct.pack(f"<I{len(ids)}I", len(ids), *ids))
for name in ("o200k_base", "cl100k_base"):
    encoding = tiktoken.get_encoding(name)
    for _ in range(int(sys.argv[2])):
        text = b"".join(random.choices(parts, k=random.randint(1, 12)))
        emit(name, 0, text, encoding._encode_bytes(text))
harmony = tiktoken.get_encoding("o200k_harmony")
words = [*(harmony.special_tokens_set - {"<|reserved_200018|>"}), "<|", "|>", "<|reserved_", "200013|>", "<|start", " a", "word", "\\n", "<|fim_prefix|>"]
for _ in range(int(sys.argv[2])):
    text = "".join(random.choices(words, k=random.randint(1, 8)))
    emit("o200k_harmony", 1, text.encode(), harmony.encode(text, allowed_special="all"))
"""


def compare(what, command, program, **options):
    print(what + ": ", end="", flush=True)
    source = subprocess.Popen(command, stdout=subprocess.PIPE, **options)
    ours = subprocess.run([program], stdin=source.stdout)
    source.stdout.close()
    return source.wait() == 0 and ours.returncode == 0


def main(build):
    program = os.path.join(build, "diff_tokens")
    paths, _ = bench.make_corpora()
    bench.node_peer()
    bench.python_peer()
    node = ["node", os.path.join(bench.ROOT, "bench", "token", "fuzz_tiktoken.mjs"), os.path.join(bench.PEERS, "node"), STRINGS, SEED, *paths.values()]
    python = [os.path.join(bench.PEERS, "venv", "bin", "python"), "-c", PYPI, SEED, "50000"]
    same = compare("npm tiktoken@1.0.22", node, program)
    same = compare("PyPI tiktoken, broken bytes and special tokens", python, program, env={**os.environ, "TIKTOKEN_CACHE_DIR": bench.rank_cache()}) and same
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main(sys.argv[1])
