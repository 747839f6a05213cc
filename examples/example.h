// What all examples share: the model that they talk with.
//
// PAL_EXAMPLE_URL names a server that speaks Chat Completions; else a key in OPENAI_API_KEY or
// ANTHROPIC_API_KEY chooses the provider; without either it is the offline echo model.
#pragma once
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "palimpsest/chat.h"
#include "palimpsest/model.h"

namespace example {

template <class T>
T must(palimpsest::Result<T> result) {
    if (result) return std::move(*result);
    std::cerr << "error: " << result.error().message << "\n";
    std::exit(1);
}

inline std::unique_ptr<palimpsest::Model> open_model() {
    using namespace palimpsest;
    if (const char* url = std::getenv("PAL_EXAMPLE_URL"))
        return must(make_http_model({.name = "scripted", .url = url, .proxy = "none"}));
    if (std::getenv("OPENAI_API_KEY")) return must(make_http_model({.name = "gpt-4o-mini"}));
    if (std::getenv("ANTHROPIC_API_KEY"))
        return must(
            make_http_model({.name = "claude-3-5-haiku-latest", .format = FormatId::anthropic}));
    return make_echo_model();
}

inline std::string user(const std::string& text) {
    return R"({"role":"user","content":")" + text + "\"}";
}

inline const palimpsest::ConversationId alice{"examples", "alice"};

}  // namespace example
