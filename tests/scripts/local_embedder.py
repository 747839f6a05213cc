"""local_embedder.py WEIGHTS: a JSON string for each line in, its vector as ONNX Runtime and the
tokenizers library compute it for each line out."""
import json
import sys

import numpy
import onnxruntime
from tokenizers import Tokenizer

weights = sys.argv[1]
tokenizer = Tokenizer.from_file(weights.removesuffix(".onnx") + "-tokenizer.json")
tokenizer.no_padding()
tokenizer.enable_truncation(512)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
for line in sys.stdin:
    ids = numpy.array([tokenizer.encode(json.loads(line)).ids], dtype=numpy.int64)
    rows = session.run(None, {"input_ids": ids, "attention_mask": numpy.ones_like(ids),
                              "token_type_ids": numpy.zeros_like(ids)})[0][0]
    vector = rows[0]  # The model's own pooling: its first token.
    print(json.dumps((vector / numpy.linalg.norm(vector)).tolist()))
