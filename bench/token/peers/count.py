# count.py ROUNDS FILE...: PyPI tiktoken over the files of bench_tokens. What is timed is its core,
# which is written in Rust, and the call of it.
import struct, sys, time
import tiktoken

rounds = int(sys.argv[1])
for path in sys.argv[2:]:
    data, messages, at = open(path, "rb").read(), [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        messages.append(data[at + 4 : at + 4 + size].decode())
        at += 4 + size
    if len(messages) == 1: continue
    texts = messages[1::2]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    for name in ("o200k_base", "cl100k_base"):
        encode, speeds, tokens = tiktoken.get_encoding(name)._core_bpe.encode_ordinary, [], 0
        for _ in range(rounds):
            start = time.thread_time()
            tokens = sum(len(encode(text)) for text in texts)
            speeds.append(megabytes / (time.thread_time() - start))
        speeds.sort()
        print("tiktoken", name, path.split("/")[-1], f"median {speeds[rounds // 2]:.1f} best {speeds[-1]:.1f} tokens {tokens}", flush=True)
