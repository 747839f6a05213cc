#include "cli/tokenizer_file.h"

#include "base/hash.h"
#include "cli/command.h"

namespace palimpsest {

bool is_tokenizer_file(std::string_view name) {
    return name.ends_with(".json");
}

Result<std::shared_ptr<const JsonTokenizer>> read_tokenizer_file(const std::string& path) {
    PAL_TRY(json, read_input(path));
    constexpr std::uint64_t schemes = 65536 - scheme_own_first;
    const auto scheme = scheme_own_first + hash_bytes(json).low % schemes;
    auto loaded = load_tokenizer_json(
        {.json = json, .name = path, .scheme = static_cast<std::uint16_t>(scheme)});
    if (!loaded) loaded.error().message = path + ": " + loaded.error().message;
    return loaded;
}

Result<std::shared_ptr<const Tokenizer>> open_named_tokenizer(const std::string& name) {
    if (!is_tokenizer_file(name)) return open_tokenizer(name);
    PAL_TRY(tokenizer, read_tokenizer_file(name));
    return tokenizer;
}

}  // namespace palimpsest
