"""The local embedder gives the vectors that the reference run time gives for the same file, and
those that were written down here. Skipped where the registries cannot be reached."""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

from client_run import BUILD, ClientSet
from local_embedder_texts import TEXTS

SOURCE = sys.argv[2]
CACHE = os.path.join(os.path.dirname(BUILD), "cache")
WEIGHTS = os.path.join(CACHE, "local-embedder", "bge-small-en-v1.5.onnx")
REFERENCE = ClientSet("local_embedder", [], 0, ["onnxruntime", "tokenizers", "numpy"])
# The first numbers of vectors, by the reference run time.
GOLDEN = {
    "The train to Bergen leaves at seven from platform four.":
        [0.0392, 0.0255, 0.0439, -0.013, 0.0018, 0.0483],
    "Übermorgen gibt es Klöße mit Soße.": [0.0454, 0.0492, 0.0686, 0.0296, 0.0447, -0.0406],
    "東京": [-0.0533, -0.0698, 0.0794, -0.0516, 0.0234, 0.0228],
    "": [0.0485, -0.0013, 0.0169, -0.0479, -0.0229, 0.0702],
}


def fetch_weights():
    """Why they cannot be had, or None."""
    done = subprocess.run(["cmake", "-DCACHE=" + CACHE, "-P",
                           os.path.join(SOURCE, "cmake", "fetch_embedder.cmake")],
                          capture_output=True, text=True, timeout=400)
    return None if os.path.exists(WEIGHTS) else done.stdout.strip()[-300:]


def vectors(command, texts):
    lines = "".join(json.dumps(text) + "\n" for text in texts)
    done = subprocess.run([*command, WEIGHTS], input=lines, capture_output=True, text=True,
                          timeout=200)
    if done.returncode:
        raise AssertionError(done.stderr[-3000:])
    return [json.loads(line) for line in done.stdout.splitlines()]


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) *
                                                        sum(y * y for y in b))


class LocalEmbedder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reason = fetch_weights()
        cls.command = [os.path.join(BUILD, "embed_texts")]

    def needs(self, reason):
        if reason:
            print("skipped: " + reason)
            self.skipTest(reason)

    def test_gives_the_vectors_that_were_written_down(self):
        self.needs(self.reason)
        for (text, first), made in zip(GOLDEN.items(), vectors(self.command, GOLDEN)):
            with self.subTest(text=text):
                self.assertEqual(len(made), 384)
                for expected, number in zip(first, made):
                    self.assertAlmostEqual(number, expected, delta=0.002)

    def test_agrees_with_the_reference_run_time_on_a_hundred_texts(self):
        self.needs(self.reason)
        command, reason = REFERENCE.python()
        self.needs(reason)
        self.assertGreaterEqual(len(TEXTS), 100)
        worst = 1
        for text, made, expected in zip(TEXTS, vectors(self.command, TEXTS),
                                        vectors(command, TEXTS), strict=True):
            worst = min(worst, cosine(made, expected))
            with self.subTest(text=text[:60]):
                self.assertGreaterEqual(cosine(made, expected), 0.999)
        print(f"worst cosine {worst:.6f} of {len(TEXTS)} texts")

    def test_the_program_searches_by_meaning_and_says_when_it_cannot(self):
        self.needs(self.reason)
        pal = [os.path.join(BUILD, "pal"), "--store", "sqlite:a.db", "--embedder", "local"]
        with tempfile.TemporaryDirectory() as folder:
            def run(*arguments, said=None):
                return subprocess.run([*pal[:1], *arguments, *pal[1:]], cwd=folder, input=said,
                                      capture_output=True, text=True, timeout=60)
            said = ["The invoice was paid on Monday.", "My dog cannot eat poultry.",
                    "It rains in Bergen."]
            for text in said:
                run("append", "a", said=json.dumps({"role": "user", "content": text}))
            found = run("search", "--json", "--mode", "vector", "what food should my pet avoid")
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertEqual(json.loads(found.stdout.splitlines()[0])["seq"], 2)
            broken = run("search", "--embedder-file", "/nowhere.onnx", "dog")
            self.assertEqual(broken.returncode, 4)
            self.assertIn("/nowhere.onnx", broken.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
