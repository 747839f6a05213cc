// Recorded conversations of the folder that PAL_DATA names, as traces.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/json.h"
#include "core/simulate.h"
#include "palimpsest/format.h"

namespace palimpsest {

inline std::vector<std::string> read_gzip_lines(const std::string& path) {
    std::vector<std::string> lines(1);
    FILE* pipe = popen(("gzip -dc '" + path + "'").c_str(), "r");
    if (!pipe) return {};
    char buffer[65536];
    for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;)
        for (std::size_t i = 0; i < n; ++i) {
            if (buffer[i] == '\n')
                lines.emplace_back();
            else
                lines.back() += buffer[i];
        }
    pclose(pipe);
    if (lines.back().empty()) lines.pop_back();
    return lines;
}

inline void append_trace(Trace& trace, std::vector<Message> messages, const MessageTools& tools) {
    bool leading = true;
    const bool first = trace.preamble.empty() && trace.items.empty();
    for (Message& message : messages) {
        auto counted = tools.rewrite(message, {});
        if (!counted) continue;
        leading = leading && counted->shape.role == Role::system;
        if (leading) {
            if (first) trace.preamble.push_back(*std::move(counted));
            continue;
        }
        Item item;
        const Seq seq{trace.items.size() + 1};
        item.range = {seq, seq};
        item.tokens = counted->count.tokens;
        item.message = *std::move(counted);
        trace.items.push_back(std::move(item));
    }
}

// `join` conversations in a row make one trace; the first one's system prompt is sent.
inline std::vector<Trace> read_traces(const std::string& path, std::size_t join,
                                      const MessageTools& tools) {
    std::vector<Trace> traces;
    std::size_t n = 0;
    for (const std::string& line : read_gzip_lines(path)) {
        auto messages = read_messages(FormatId::openai_chat, make_bytes(line));
        if (!messages) continue;
        if (n++ % join == 0) traces.emplace_back();
        append_trace(traces.back(), *std::move(messages), tools);
    }
    return traces;
}

}  // namespace palimpsest
