// Speed of the formats, as ratios in one run: reading a request against simdjson's on-demand
// reading of role and content and against nlohmann's parse; writing an unchanged history against
// Boost.JSON's serialiser.
#include <simdjson.h>

#include <boost/json.hpp>
#include <boost/json/src.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/json_write.h"
#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

// A chat with tools: prose of some hundred bytes, code with escapes, calls, results, some CJK.
std::string make_request(std::size_t bytes) {
    const std::string prose =
        "The reservation was made on the 14th of May and can be changed up to 24 hours before "
        "departure. Please tell me whether you would like an aisle seat or a window seat. ";
    const std::string code = "for (int i = 0; i < n; ++i) {\n\tprintf(\"%d\\n\", values[i]);\n}\n";
    const std::string other = "航班将于明天上午十点起飞。";
    std::string out = "{\"model\":\"m\",\"messages\":[";
    for (std::size_t i = 0; out.size() < bytes; ++i) {
        if (i > 0) out += ',';
        std::string text;
        for (std::size_t n = 0; n < 1 + i % 7; ++n) text += prose;
        if (i % 5 == 0) text += code;
        if (i % 11 == 0) text += other;
        const std::string id = "call_" + std::to_string(i);
        if (i % 4 == 0) {
            out += "{\"role\":\"user\",\"content\":" + json_string(text) + "}";
        } else if (i % 4 == 1) {
            out += "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"" + id +
                   "\",\"type\":\"function\",\"function\":{\"name\":\"search\",\"arguments\":"
                   "\"{\\\"query\\\":\\\"seats\\\",\\\"limit\\\":10}\"}}]}";
        } else if (i % 4 == 2) {
            out += "{\"role\":\"tool\",\"tool_call_id\":\"call_" + std::to_string(i - 1) +
                   "\",\"content\":" + json_string(text) + "}";
        } else {
            out += "{\"role\":\"assistant\",\"content\":" + json_string(text) + "}";
        }
    }
    return out + "]}";
}

std::size_t sink = 0;

// What `work` made is dropped after the clock has stopped, ours and theirs.
template <class Work>
double best_seconds(Work&& work) {
    double best = 1e9;
    for (int round = 0; round < 25; ++round) {
        const auto start = std::chrono::steady_clock::now();
        const auto made = work();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        best = std::min(best, took.count());
        sink += reinterpret_cast<std::uintptr_t>(&made) & 1U;
    }
    return best;
}

std::size_t read_simdjson(simdjson::ondemand::parser& parser, const simdjson::padded_string& text) {
    auto document = parser.iterate(text);
    for (auto message : document["messages"].get_array()) {
        std::string_view role, content;
        if (message["role"].get_string().get(role) == simdjson::SUCCESS) sink += role.size();
        auto value = message["content"];
        if (value.get_string().get(content) == simdjson::SUCCESS) sink += content.size();
    }
    return sink;
}

void report(const char* name, double seconds, std::size_t bytes) {
    std::printf("%-58s %8.2f ms %8.0f MB/s\n", name, seconds * 1e3,
                static_cast<double>(bytes) / seconds / 1e6);
}

void ratio(const char* name, double value, double goal) {
    std::printf("%-58s %8.2f times, goal %.1f: %s\n", name, value, goal,
                value >= goal ? "met" : "not met");
}

void bench_reading(const Bytes& request) {
    const simdjson::padded_string padded(request->data(), request->size());
    simdjson::ondemand::parser parser;
    constexpr FormatId chat = FormatId::openai_chat;
    const double simd = best_seconds([&] { return read_simdjson(parser, padded); });
    const double other = best_seconds([&] { return nlohmann::json::parse(*request); });
    const double ours =
        best_seconds([&] { return read_messages(chat, request, Fingerprints::left_out); });
    const double known = best_seconds([&] { return read_messages(chat, request); });
    const double checked = best_seconds([&] { return validate_json(chat, *request); });
    report("simdjson on demand, role and content", simd, request->size());
    report("nlohmann parse", other, request->size());
    report("read_messages: all of it checked, split, shapes read", ours, request->size());
    report("read_messages: the same with fingerprints", known, request->size());
    report("validate_json: every rule", checked, request->size());
    ratio("read_messages / simdjson on demand", simd / ours, 0.5);
    ratio("read_messages with fingerprints / simdjson on demand", simd / known, 0.5);
    ratio("read_messages / nlohmann parse", other / ours, 5);
}

void bench_writing(const Bytes& request) {
    const auto messages = read_messages(FormatId::openai_chat, request);
    const auto tree =
        boost::json::parse(boost::json::string_view(request->data(), request->size()));
    const double boosted = best_seconds([&] { return boost::json::serialize(tree); });
    const double written = best_seconds([&] { return write_list(*messages); });
    report("Boost.JSON serialise", boosted, request->size());
    report("write_list of unchanged messages", written, request->size());
    ratio("write_list / Boost.JSON serialise", boosted / written, 10);
}

// The recorded conversations of a file in PAL_DATA, one after the other, up to `bytes`.
std::string recorded_request(const std::string& file, std::size_t bytes) {
    FILE* const pipe = popen(("gzip -dc '" + file + "'").c_str(), "r");
    std::string text;
    char piece[65536];
    while (const std::size_t size = std::fread(piece, 1, sizeof piece, pipe))
        text.append(piece, size);
    if (pclose(pipe) != 0 || text.empty()) return {};
    std::string out = "{\"model\":\"m\",\"messages\":[";
    while (out.size() < bytes)
        for (std::size_t at = 0; at < text.size() && out.size() < bytes;) {
            const std::size_t end = text.find('\n', at);
            const auto row = parse_json(std::string_view(text).substr(at, end - at));
            for (const JsonValue message : row->root().find("messages")->elements())
                out.append(message.raw()).append(",");
            at = end + 1;
        }
    out.back() = ']';
    return out + "}";
}

void bench_all(const char* title, std::string json) {
    if (json.empty()) return;
    std::printf("-- %s\n", title);
    const Bytes request = make_bytes(std::move(json));
    bench_reading(request);
    bench_writing(request);
}

}  // namespace

// Made-up chats; with PAL_DATA also recorded ones, which have more escapes.
int main() {
    bench_all("5 MB of made-up chat, long plain texts", make_request(5'000'000));
    if (const char* const folder = std::getenv("PAL_DATA"))
        for (const char* const name : {"coding_agent_dev.jsonl.gz", "tau_airline.jsonl.gz"})
            bench_all(name, recorded_request(std::string(folder) + "/" + name, 5'000'000));
    return sink == 0 ? 1 : 0;
}
