#include "cli/open.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "cli/tokenizer_file.h"
#include "engine/model_table.h"
#include "palimpsest/search.h"
#include "store/remote_store.h"
#include "store/sealed_store.h"

namespace palimpsest {
namespace {

// What cmake/fetch_embedder.cmake fetches.
constexpr std::string_view local_embedder_file = "bge-small-en-v1.5.onnx";

void print_warning(std::string_view message) {
    std::fprintf(stderr, "pal: warning: %.*s\n", static_cast<int>(message.size()), message.data());
}

// A configured model, the echo model, or one that its provider's name tells us about.
Result<std::unique_ptr<Model>> open_named_model(const Settings& settings, const std::string& name,
                                                std::string setting) {
    for (const Endpoint& endpoint : settings.endpoints)
        if (endpoint.name == name) return open_endpoint(settings, endpoint);
    if (name == "echo") return make_echo_model();
    Endpoint endpoint;
    endpoint.name = name;
    if (name.starts_with("claude")) {
        endpoint.format = FormatId::anthropic;
        return open_endpoint(settings, std::move(endpoint));
    }
    for (const std::string_view family : {"gpt-", "chatgpt-", "o1", "o3", "o4", "text-embedding-"})
        if (name.starts_with(family)) return open_endpoint(settings, std::move(endpoint));
    return fail(ErrorCode::invalid_request,
                "there is no model " + name + "; say where it is in palimpsest.toml: [models." +
                    name + "] url = \"http://localhost:11434/v1\"",
                std::move(setting));
}

// The one of the settings is asked, or another configured one where a policy names it. Null: none.
Result<std::shared_ptr<Summarizer>> open_summarizer(const Settings& settings) {
    if (settings.summarizer.empty()) return nullptr;
    PAL_TRY(first, open_named_model(settings, settings.summarizer, "summarizer"));
    std::vector<std::shared_ptr<Model>> models;
    models.push_back(std::move(first));
    for (const Endpoint& endpoint : settings.endpoints) {
        if (endpoint.name == settings.summarizer) continue;
        PAL_TRY(other, open_endpoint(settings, endpoint));
        models.push_back(std::move(other));
    }
    const ModelTable table(settings.models, {});
    std::uint64_t window = settings.summarizer_window;
    for (const auto& model : models) {
        if (settings.summarizer_window > 0) break;
        const std::uint64_t own = table.match(model->name()).spec->window_tokens;
        window = window == 0 ? own : std::min(window, own);
    }
    return make_summarizer(std::move(models),
                           {.prompt_file = settings.summarizer_prompt, .window_tokens = window});
}

// Where weights are put: beside the program when it is installed, and when it was just built.
std::string find_local_weights() {
    std::error_code none;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
    for (const std::string_view place : {"../share/palimpsest", "../cache/local-embedder"}) {
        const auto file = (program / place / local_embedder_file).lexically_normal();
        if (std::filesystem::exists(file, none)) return file.string();
    }
    return {};
}

// Null, and that is said, when no file is named and none was put in place.
Result<std::shared_ptr<Embedder>> open_local_embedder(const std::string& named) {
    const std::string file = named.empty() ? find_local_weights() : named;
    if (!file.empty()) return make_local_embedder(file);
    print_warning(
        "the local embedder has no weights: search compares words only. `make embedder` fetches "
        "them, embedder_file names others");
    return nullptr;
}

// Null: search compares words only.
Result<std::shared_ptr<Embedder>> open_embedder(const Settings& settings) {
    if (settings.embedder.empty()) return nullptr;
    if (settings.embedder == "local") return open_local_embedder(settings.embedder_file);
    PAL_TRY(model, open_named_model(settings, settings.embedder, "embedder"));
    return make_model_embedder(std::move(model));
}

}  // namespace

Result<std::unique_ptr<Store>> open_store_of(const Settings& settings, StoreOptions& options) {
    options.encryption_key = settings.encryption_key;
    if (options.create || options.encryption_key.empty())
        return open_store_or_holder(settings.store, options);
    PAL_TRY(masters, read_master_keys(options.encryption_key));
    StoreOptions as_it_lies = options;
    as_it_lies.raw = true;
    PAL_TRY(store, open_store_or_holder(settings.store, as_it_lies));
    if (is_remote(*store)) return std::move(store);
    PAL_TRY(stays_plain, SealedStore::would_seal(*store));
    if (stays_plain) return std::move(store);
    return SealedStore::open(std::move(store), std::move(masters));
}

Result<Memory> open_memory(const Settings& settings, StoreOptions options, MemoryOptions memory) {
    options.warn = print_warning;
    PAL_TRY(store, open_store_of(settings, options));
    const std::string& file = settings.tokenizer_file;
    PAL_TRY(tokenizer, open_named_tokenizer(file.empty() ? settings.tokenizer : file));
    memory.store = std::move(options);
    memory.tokenizer = std::move(tokenizer);
    memory.message_bytes_max = settings.message_bytes_max;
    memory.models = settings.models;
    memory.warn = print_warning;
    memory.agents = settings.agents;
    memory.turns = parse_turns(settings.turns).value_or(Turns::allow);
    memory.turn_wait = std::chrono::milliseconds(settings.turn_wait_ms);
    memory.summary_deadline = std::chrono::milliseconds(settings.summary_deadline_ms);
    PAL_TRY(summarizer, open_summarizer(settings));
    memory.summarizer = std::move(summarizer);
    PAL_TRY(embedder, open_embedder(settings));
    memory.embedder = std::move(embedder);
    return Memory(std::move(store), std::move(memory));
}

Result<std::unique_ptr<Model>> open_endpoint(const Settings& settings, Endpoint endpoint) {
    endpoint.answer_bytes_max = settings.message_bytes_max;
    return make_http_model(std::move(endpoint));
}

Result<std::unique_ptr<Model>> open_model(const Settings& settings) {
    return open_named_model(settings, settings.model, "model");
}

}  // namespace palimpsest
