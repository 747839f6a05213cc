#!/usr/bin/env python3
"""diff_tokenizers.py PAL [STRINGS] [TOKENIZER.json ...]: `pal encode` against PyPI tokenizers.

Makes a small tokenizer.json in the form of each family that must load (Llama 3, Qwen, DeepSeek V3,
GPT-4o, GPT-2), trained here on the project's own text, and takes those that are named. Encodes
random Unicode with both and prints how many strings differ; exit status 1 if any does. Code points
that are younger than Unicode 3.2 are left out: the package normalises by tables of Unicode 13, we
by those of 16.
"""
import glob, json, os, random, subprocess, sys, tempfile, unicodedata

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
VENV = os.path.join(ROOT, "build", "peers", "hf")
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
FIRST, LAST = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LLAMA = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
GPT4O = "".join(rf"[^\r\n\p{{L}}\p{{N}}]?{FIRST}{a}{LAST}{b}{CONTRACTIONS}?|" for a, b in ("*+", "+*")) + r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES
DEEPSEEK = [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
            "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"]
FAMILIES = {"llama3": ([LLAMA], None, True), "qwen": ([LLAMA.replace("{1,3}", "")], "NFC", False),
            "deepseek_v3": (DEEPSEEK, None, False), "gpt4o": ([GPT4O], None, False), "gpt2": ([], None, False)}
PARTS = [" ", "  ", "   ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u0085", "\ufeff", "\u2028", "'", "'s", "'S", "'\u017f", "'ll", "'x", "a", "Z", "foo", "Bar",
         "HTTPServer", "don't", "\u00e9", "e\u0301", "\u0301", "\u0323\u0307", "\u212b", "\u1100\u1161\u11a8", "\uac00\u11a8", "\u4f60\u597d", "\u6f22", "\u304b\u3099", "\u30c6\u30fb\u30b9",
         "\u3097", "\u309b", "\u0440\u0443\u0441", "\u0420\u0423", "\u0639\u0631", "\u0939\u093f\u0928\u094d", "\u0915\u093c", "\U0001f600", "\u200d", "\u200b", "1", "12", "3456", "\u0661\u0662", "\u00b2", "/", "!", "...",
         "!a", "_id", "#\u00e9", "{", "};\n", "--", "<|", "\\", "\ue000", "\x00", "\x1b", "aaaaaaaa", "     ", "\uf900", "\u0958"]


def installed():
    python = os.path.join(VENV, "bin", "python")
    if not os.path.exists(os.path.join(VENV, "installed")):
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "tokenizers"], check=True)
        open(os.path.join(VENV, "installed"), "w").close()
    return python


def trained(family, folder):
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
    patterns, normalizer, whole_words = FAMILIES[family]
    tokenizer = Tokenizer(models.BPE(ignore_merges=whole_words))
    if normalizer: tokenizer.normalizer = normalizers.NFC()
    splits = [pre_tokenizers.Split(Regex(pattern), behavior="isolated") for pattern in patterns]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not patterns)])
    texts = [open(path, encoding="utf8").read() for path in sorted(glob.glob(ROOT + "/src/*/*.cpp") + glob.glob(ROOT + "/docs/*.md"))]
    texts += ["".join(random.choices(PARTS, k=40)) for _ in range(2000)]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=3000, initial_alphabet=alphabet, show_progress=False))
    path = os.path.join(folder, family + ".tokenizer.json")
    tokenizer.save(path)
    return path


def is_old(code):
    """Assigned so long ago that every table agrees on it."""
    return not 0xD800 <= code <= 0xDFFF and unicodedata.ucd_3_2_0.category(chr(code)) != "Cn"


def random_text():
    out = []
    for _ in range(random.randint(1, 14)):
        if random.random() < 0.7: out.append(random.choice(PARTS)); continue
        code = random.randrange(random.choice((0x80, 0x250, 0x3100, 0x10000, 0x20000)))
        if is_old(code): out.append(chr(code))
    return "".join(out)


def reference(path):
    """The package's tokenizer without its added tokens: here they are text."""
    from tokenizers import Tokenizer
    value = json.load(open(path, encoding="utf8"))
    value["added_tokens"], value["post_processor"] = [], None
    return Tokenizer.from_str(json.dumps(value))


def compare(pal, path, texts):
    theirs = [encoding.ids for encoding in reference(path).encode_batch(texts, add_special_tokens=False)]
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    run = subprocess.run([pal, "encode", "--jsonl", "--encoding", path], input=lines, capture_output=True, text=True)
    if run.returncode != 0: print(f"{path}: {run.stderr.strip()}"); return len(texts)
    ours = [json.loads(line) for line in run.stdout.splitlines()]
    wrong = [(text, a, b) for text, a, b in zip(texts, ours, theirs, strict=True) if a != b]
    print(f"{path}: {len(texts)} strings, {len(wrong)} differ")
    for text, a, b in wrong[:3]: print("   ", ascii(text), a, b)
    return len(wrong)


def main(arguments):
    pal, strings, files = arguments[0], int(arguments[1]) if len(arguments) > 1 else 20000, arguments[2:]
    random.seed(7)
    with tempfile.TemporaryDirectory() as folder:
        paths = [trained(family, folder) for family in FAMILIES] + files
        texts = [random_text() for _ in range(strings)]
        if sum(compare(pal, path, texts) for path in paths): sys.exit(1)


if __name__ == "__main__":
    try: import tokenizers
    except ImportError: os.execv(python := installed(), [python, *sys.argv])
    main(sys.argv[1:])
