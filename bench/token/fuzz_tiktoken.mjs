// node fuzz_tiktoken.mjs TIKTOKEN_FOLDER STRINGS [SEED [CORPUS.bin ...]] | diff_tokens
// Writes texts with the ids of npm tiktoken@1.0.22, installed in TIKTOKEN_FOLDER, in the form that
// diff_tokens reads: random ones (awkward pieces, random Unicode, long runs), then with seed 1
// every code point in four surroundings, then the messages of the corpora.
import { createRequire } from "node:module";
import { readFileSync, writeSync } from "node:fs";
const [folder, strings, seed = "1", ...corpora] = process.argv.slice(2);
const { get_encoding } = createRequire(folder + "/")("tiktoken");
const names = ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"];
const encodings = Object.fromEntries(names.map((name) => [name, get_encoding(name)]));

let state = BigInt(seed) * 0x9e3779b97f4a7c15n;
let spare = [];
function random(below) {
  if (spare.length === 0) {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    let x = Number(state >> 11n);
    for (let i = 0; i < 2; ++i) { spare.push(x % 67108859); x = Math.floor(x / 67108864); }
  }
  return spare.pop() % below;
}
const pieces = [
  " ", "  ", "   ", "\n", "\r\n", "\r", "\t", "\u00a0", "\u3000", "\u0085", "\ufeff", "\u2028", "\u000b",
  "'", "'s", "'S", "'\u017f", "'t", "'re", "'RE", "'Ve", "'m", "'ll", "'lL", "'d", "'x", "\u2019s", "\"",
  "a", "b", "Z", "foo", "Bar", "HTTPServer", "iPhone", "don't", "WE'LL", "x'y", "hello", "\u00e9", "\u00c9t\u00e9", "\u00df",
  "\u01c5", "\u02b0", "\u0301", "\u0301\u0302", "\u4f60\u597d", "\u6f22", "\u304b\u306a", "\ud55c\uad6d", "\u0440\u0443\u0441", "\u0420\u0423\u0421",
  "\u0639\u0631\u0628", "\u05e2\u05d1", "\u0e44\u0e17\u0e22", "\u0939\u093f\u0928\u094d\u0926\u0940", "\ud83d\ude00", "\ud83d\udc68\u200d\ud83d\udc69", "1", "12", "345", "6789", "\u0661\u0662", "\u00b2", "\u2167",
  "/", "//", "!", "!!", "...", "=>", "{", "}", "(", ");", "--", "<|endoftext|>", "<|", "|>", "\\n", "_", "#", "\u2014",
  "\ue000", "\u0000", "\u001b", "\u{1e900}", "\u{16ec0}", "\u{10ffff}", "\u2029", "aaaaaaaa", "        ", "=====",
];
function random_char() {
  for (;;) {
    const below = [0x80, 0x250, 0x3000, 0x10000, 0x20000, 0x110000][random(6)];
    const code = random(below);
    if (code < 0xd800 || code > 0xdfff) return String.fromCodePoint(code);
  }
}
function random_text() {
  const kind = random(10);
  let text = "";
  if (kind < 6) for (let n = 1 + random(12); n > 0; --n) text += pieces[random(pieces.length)];
  else if (kind < 8) for (let n = 1 + random(10); n > 0; --n) text += random(2) ? random_char() : pieces[random(pieces.length)];
  else if (kind < 9) {
    const few = [0, 1, 2].map(() => pieces[random(pieces.length)]);
    for (let n = 1 + random(60); n > 0; --n) text += few[random(3)];
  } else for (let n = 1 + random(40); n > 0; --n) text += String.fromCharCode(97 + random(26));
  return text;
}
let buffers = [], waiting = 0;
function flush() {
  const all = Buffer.concat(buffers);
  for (let at = 0; at < all.length;) {
    try { at += writeSync(1, all, at); } catch (error) { if (error.code !== "EAGAIN") throw error; }
  }
  buffers = []; waiting = 0;
}
function emit(name, text, specials) {
  const ids = specials ? encodings[name].encode(text, "all") : encodings[name].encode_ordinary(text);
  const bytes = Buffer.from(text);
  const head = Buffer.alloc(name.length + 6);
  head.writeUInt8(name.length, 0); head.write(name, 1); head.writeUInt8(specials ? 1 : 0, name.length + 1);
  head.writeUInt32LE(bytes.length, name.length + 2);
  const count = Buffer.alloc(4); count.writeUInt32LE(ids.length);
  buffers.push(head, bytes, count, Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength));
  if ((waiting += bytes.length) > 1 << 16) flush();
}
for (let n = Number(strings); n > 0; --n) {
  const name = names[n % 8 < 4 ? 0 : n % 8 < 6 ? 1 : n % 8 - 4];
  emit(name, random_text(), random(16) === 0);
}
for (let code = 0; Number(seed) === 1 && code < 0x110000; ++code) {
  if (code >= 0xd800 && code <= 0xdfff) continue;
  const c = String.fromCodePoint(code);
  for (const text of [c, "a" + c + "B", " " + c + c + "b", "!" + c + "\n" + c + "1"])
    for (const name of names.slice(0, 3)) emit(name, text, false);
}
for (const corpus of corpora) {
  const all = readFileSync(corpus);
  for (let at = 0, n = 0; at < all.length; ++n) {
    const size = all.readUInt32LE(at);
    const text = all.toString("utf8", at + 4, at + 4 + size);
    emit(names[n % 4], text, false);
    at += 4 + size;
  }
}
flush();
