// Tokenizers by name or from a file: "o200k_base", or the path of a tokenizer.json.
#pragma once
#include <memory>
#include <string>

#include "palimpsest/tokenizer.h"
#include "token/tokenizer_json.h"

namespace palimpsest {

// A name that ends in .json is a file.
bool is_tokenizer_file(std::string_view name);
// Its scheme follows from its bytes, so counts of another file are not taken for its own.
Result<std::shared_ptr<const JsonTokenizer>> read_tokenizer_file(const std::string& path);
Result<std::shared_ptr<const Tokenizer>> open_named_tokenizer(const std::string& name);

}  // namespace palimpsest
