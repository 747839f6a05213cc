#!/usr/bin/env python3
"""bench_tokens.py PROGRAM: our counting speed beside the peers', in one run.

Fetches the peers from their registries into build/peers, makes corpora, runs everything and prints
a line for each goal: what we reach, what was aimed at. A peer whose tools are missing is left out
and named. With PAL_DATA the corpora are conversations; without it, what the machine has.
"""
import glob, gettext, gzip, json, math, os, random, shutil, string, struct, subprocess, sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PEERS = os.path.join(ROOT, "build", "peers")
HERE = os.path.join(ROOT, "bench", "token", "peers")
ROUNDS = os.environ.get("PAL_BENCH_ROUNDS", "3")
CORPUS_BYTES = 2_500_000


# ---- corpora ------------------------------------------------------------------------------------

def strings(value):
    if isinstance(value, str): yield value
    elif isinstance(value, dict):
        for inner in value.values(): yield from strings(inner)
    elif isinstance(value, list):
        for inner in value: yield from strings(inner)


def lines_of(name):
    with gzip.open(os.path.join(os.environ["PAL_DATA"], name), "rt") as file:
        return [json.loads(line) for line in file if line.strip()]


def files(pattern):
    for path in sorted(glob.glob(pattern, recursive=True)):
        try: yield open(path, encoding="utf8").read()
        except (OSError, UnicodeDecodeError): pass


def catalogues():
    for path in sorted(glob.glob("/usr/share/locale/*/LC_MESSAGES/*.mo")):
        if path.split("/")[4][:2] not in ("zh", "ja", "ko", "ru", "uk", "el", "ar", "he", "th", "hi", "fr", "de"): continue
        try: catalogue = gettext.GNUTranslations(open(path, "rb"))._catalog
        except (OSError, UnicodeDecodeError): continue
        yield "\n".join(text for key, text in catalogue.items() if isinstance(text, str) and key)


def sources():
    library = os.path.dirname(os.__file__)
    code = list(files(library + "/*.py")) + list(files(ROOT + "/src/**/*.cpp"))
    if "PAL_DATA" in os.environ:
        rows = lines_of("api_exchanges_dev.jsonl.gz")
        return {"prose": [m["content"] for c in lines_of("beam_dev.jsonl.gz") for m in c["messages"]],
                "code": code,
                "json": [json.dumps(row, ensure_ascii=False, indent=2 if i % 3 == 0 else None) for i, row in enumerate(rows)],
                "multilingual": ["\n".join(strings(c)) for name in ("multilingual_chats_dev.jsonl.gz", "agent_chat_zh.jsonl.gz") for c in lines_of(name)] + list(catalogues())}
    names = [{"name": name, "size": len(text), "lines": text.splitlines()[:40]} for name, text in zip(sorted(sys.stdlib_module_names), code)]
    return {"prose": list(files(library + "/pydoc_data/topics.py")), "code": code,
            "json": [json.dumps(one, indent=2) for one in names], "multilingual": list(catalogues())}


def messages(texts, most=2048):
    out, current = [], ""
    for text in texts:
        for line in text.encode("utf8", "ignore").decode().splitlines(keepends=True):
            for at in range(0, len(line), most // 4):
                part = line[at:at + most // 4]
                if len((current + part).encode()) > most: out.append(current); current = ""
                current += part
        if current: out.append(current); current = ""
    random.shuffle(out)
    return out


def write(name, texts):
    path, size = os.path.join(PEERS, "corpora", name + ".bin"), 0
    with open(path, "wb") as file:
        for text in texts:
            data = text.encode()
            file.write(struct.pack("<I", len(data)) + data)
            size += len(data)
            if size > CORPUS_BYTES: break
    return path


def make_corpora():
    random.seed(5)
    os.makedirs(os.path.join(PEERS, "corpora"), exist_ok=True)
    paths = {name: write(name, messages(texts)) for name, texts in sources().items() if texts}
    size = 200_000
    pick = lambda alphabet: "".join(random.choices(alphabet, k=size))
    long = {"one_letter": "a" * size, "letters": pick(string.ascii_lowercase), "spaces": " " * size,
            "punctuation": pick("!\"#$%&()*+,-.:;<=>?@[]^_`{|}~"), "base64": pick(string.ascii_letters + string.digits + "+/"),
            "hex": pick("0123456789abcdef"), "digits": pick(string.digits), "cjk": "".join(chr(random.randint(0x4E00, 0x9FA5)) for _ in range(size // 3))}
    return paths, {name: write("long_" + name, [text]) for name, text in long.items()}


# ---- peers --------------------------------------------------------------------------------------

def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def rank_cache():
    """The rank files where PyPI tiktoken looks for what it would download."""
    folder = os.path.join(PEERS, "ranks")
    os.makedirs(folder, exist_ok=True)
    for name, kept_as in (("o200k_base", "fb374d419588a4632f3f557e76b4b70aebbca790"),
                          ("cl100k_base", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4")):
        for path in glob.glob(os.path.join(ROOT, "build", "cache", "*", name + ".tiktoken")):
            shutil.copy(path, os.path.join(folder, kept_as))
    return folder


def rust_peer():
    program = os.path.join(PEERS, "rust", "release", "peers")
    if not os.path.exists(program):
        source = os.path.join(PEERS, "rust_source")  # Cargo writes its lock file beside the manifest.
        shutil.copytree(HERE, source, dirs_exist_ok=True)
        run(["cargo", "build", "--release", "--manifest-path", source + "/Cargo.toml", "--target-dir", PEERS + "/rust"])
    return lambda paths: run([program, ROUNDS, *paths])


def python_peer():
    venv = os.path.join(PEERS, "venv")
    if not os.path.exists(venv + "/installed"):
        run([sys.executable, "-m", "venv", venv])
        run([venv + "/bin/pip", "install", "-q", "tiktoken"])
        open(venv + "/installed", "w").close()
    environment = {**os.environ, "TIKTOKEN_CACHE_DIR": rank_cache()}
    return lambda paths: run([venv + "/bin/python", HERE + "/count.py", ROUNDS, *paths], env=environment)


def node_peer():
    folder = os.path.join(PEERS, "node")
    if not os.path.exists(folder + "/node_modules/gpt-tokenizer"):
        os.makedirs(folder, exist_ok=True)
        run(["npm", "install", "--silent", "--prefix", folder, "tiktoken@1.0.22", "gpt-tokenizer"])
    return lambda paths: run(["node", HERE + "/count.mjs", folder, ROUNDS, *paths])


def measure(program, paths):
    outputs = [run([program, ROUNDS, *paths])]
    for name, fetch in (("crates tiktoken-rs, bpe-openai", rust_peer), ("PyPI tiktoken", python_peer), ("npm tiktoken, gpt-tokenizer", node_peer)):
        try: outputs.append(fetch()(paths))
        except FileNotFoundError as error: print(f"left out: {name}: {error.filename} is not installed")
        except subprocess.CalledProcessError as error: print(f"left out: {name}: {(error.stderr or '').strip().splitlines()[-1:]}")
    speeds = {}
    for line in "".join(outputs).splitlines():
        who, encoding, file, _, median, *rest = line.split()
        speeds[who, encoding, file.removesuffix(".bin")] = (float(median), int(rest[-1]))
    return speeds


# ---- the table ----------------------------------------------------------------------------------

def goal(what, ratio, least, at_most=False):
    met = ratio <= least if at_most else ratio >= least
    print(f"{'met   ' if met else 'MISSED'} {what:64} {ratio:7.2f}  goal {'<=' if at_most else '>='} {least}")


def report(speeds, names, long_names):
    for (who, encoding, name), (speed, tokens) in sorted(speeds.items(), key=lambda row: row[0][1:]):
        ours = speeds["unseen", encoding, name][0]
        same = "" if tokens == speeds["unseen", encoding, name][1] else "  COUNTS DIFFER"
        print(f"{encoding:12} {name:18} {who:14} {speed:8.1f} MB/s  ours / this {ours / speed:7.2f}{same}")
    for encoding, least in (("o200k_base", 8), ("cl100k_base", 12)):
        ratios = {}
        for name in names:
            ours = speeds["unseen", encoding, name][0]
            for peer in ("tiktoken", "bpe-openai"):
                if (peer, encoding, name) in speeds: ratios[peer, name] = ours / speeds[peer, encoding, name][0]
            goal(f"{encoding} {name}: streamed costs, in passes", ours / speeds["streamed", encoding, name][0], 2, at_most=True)
        core = [ratio for (peer, _), ratio in ratios.items() if peer == "tiktoken"]
        if core: goal(f"{encoding}: tiktoken's Rust core, geometric mean", math.prod(core) ** (1 / len(core)), least)
        port = [speeds["unseen", encoding, name][0] / speeds["tiktoken-rs", encoding, name][0] for name in names if ("tiktoken-rs", encoding, name) in speeds]
        if port: print(f"       {encoding + ': the crate tiktoken-rs, geometric mean':64} {math.prod(port) ** (1 / len(port)):7.2f}")
        for (peer, name), ratio in ratios.items():
            if peer == "bpe-openai": goal(f"{encoding} {name}: bpe-openai", ratio, 2.5)
            elif name == "multilingual": goal(f"{encoding} {name}: tiktoken's Rust core", ratio, 3.5)
        for name in long_names:
            if ("bpe-openai", encoding, name) in speeds:
                goal(f"{encoding} {name}: bpe-openai", speeds["unseen", encoding, name][0] / speeds["bpe-openai", encoding, name][0], 1)


def main():
    paths, long_paths = make_corpora()
    speeds = measure(sys.argv[1], [*paths.values(), *long_paths.values()])
    report(speeds, list(paths), ["long_" + name for name in long_paths])


if __name__ == "__main__":
    main()
