#include "cli/open.h"

#include <cstdio>

#include "cli/tokenizer_file.h"
#include "store/remote_store.h"

namespace palimpsest {
namespace {

void print_warning(std::string_view message) {
    std::fprintf(stderr, "pal: warning: %.*s\n", static_cast<int>(message.size()), message.data());
}

}  // namespace

Result<Memory> open_memory(const Settings& settings, StoreOptions options, MemoryOptions memory) {
    options.encryption_key = settings.encryption_key;
    options.warn = print_warning;
    PAL_TRY(store, open_store_or_holder(settings.store, options));
    const std::string& file = settings.tokenizer_file;
    PAL_TRY(tokenizer, open_named_tokenizer(file.empty() ? settings.tokenizer : file));
    memory.store = std::move(options);
    memory.tokenizer = std::move(tokenizer);
    memory.message_bytes_max = settings.message_bytes_max;
    memory.models = settings.models;
    memory.warn = print_warning;
    return Memory(std::move(store), std::move(memory));
}

// A configured model, the echo model, or one that its provider's name tells us about.
Result<std::unique_ptr<Model>> open_model(const Settings& settings) {
    for (const Endpoint& endpoint : settings.endpoints)
        if (endpoint.name == settings.model) return make_http_model(endpoint);
    if (settings.model == "echo") return make_echo_model();
    Endpoint endpoint;
    endpoint.name = settings.model;
    if (settings.model.starts_with("claude")) {
        endpoint.format = FormatId::anthropic;
        return make_http_model(std::move(endpoint));
    }
    for (const std::string_view family : {"gpt-", "chatgpt-", "o1", "o3", "o4"})
        if (settings.model.starts_with(family)) return make_http_model(std::move(endpoint));
    return fail(ErrorCode::invalid_request,
                "there is no model " + settings.model + "; say where it is in palimpsest.toml: " +
                    "[models." + settings.model + "] url = \"http://localhost:11434/v1\"",
                "model");
}

}  // namespace palimpsest
