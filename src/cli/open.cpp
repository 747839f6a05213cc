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

Result<Memory> open_memory(const Settings& settings, StoreOptions options) {
    PAL_TRY(store, open_store_or_holder(settings.store, options));
    const std::string& file = settings.tokenizer_file;
    PAL_TRY(tokenizer, open_named_tokenizer(file.empty() ? settings.tokenizer : file));
    return Memory(std::move(store), {.store = std::move(options),
                                     .tokenizer = std::move(tokenizer),
                                     .message_bytes_max = settings.message_bytes_max,
                                     .models = settings.models,
                                     .warn = print_warning});
}

Result<std::unique_ptr<Model>> open_model(const Settings& settings) {
    if (settings.model == "echo") return make_echo_model();
    return fail(ErrorCode::invalid_request, "there is no model " + settings.model, "model");
}

}  // namespace palimpsest
