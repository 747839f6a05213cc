// Runs a libFuzzer target without libFuzzer: seeds, then mutations of them, from a fixed start, so
// that `make test` does the same every time. With clang, link -fsanitize=fuzzer instead.
//
// Usage: fuzz_X [runs]
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

const std::vector<std::string> seeds = {
    R"({"a":[1,-2.5e3,true,null,"x\n\u00e9\ud83d\ude00"],"b":{"c":""}})",
    R"([{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"x"}]}])",
    R"({"input":[{"type":"reasoning","id":"rs","summary":[]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]})",
    R"({"system":"s","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"t1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x","is_error":true}]}]})",
    "event: message_start\r\ndata: "
    "{\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],"
    "\"usage\":{}}}\n\ndata: "
    "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":"
    "\"\"}}\n\ndata: "
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":"
    "\"hi\"}}\n\n",
    "data: "
    "{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"a\","
    "\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}}]}"
    ",\"finish_reason\":null}]}\n\ndata: [DONE]\n\n",
    "data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"output\":[]}}\n\ndata: "
    "{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\","
    "\"role\":\"assistant\",\"content\":[]}}\n\ndata: "
    "{\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":"
    "\"x\"}\n\n",
};

void mutate(std::string& text, std::minstd_rand& random) {
    const auto below = [&](std::size_t n) { return n ? random() % n : 0; };
    const std::string& other = seeds[below(seeds.size())];
    for (std::size_t n = 1 + below(4); n > 0; --n) {
        const std::size_t at = below(text.size() + 1);
        switch (below(5)) {
            case 0:
                if (at < text.size()) text[at] = static_cast<char>(random());
                break;
            case 1:
                text.insert(at, 1, "{}[]\",:\\u0e-.\n\r \x80\xff"[below(18)]);
                break;
            case 2:
                text.erase(at, below(12));
                break;
            case 3:
                text.insert(at, other.substr(below(other.size()), below(60)));
                break;
            default:
                text.insert(at, text.substr(below(text.size() + 1), below(40)));
        }
    }
}

}  // namespace

int main(int count, char** arguments) {
    const long runs = count > 1 ? std::atol(arguments[1]) : 20000;
    std::minstd_rand random(20);
    for (long run = 0; run < runs; ++run) {
        std::string text = seeds[static_cast<std::size_t>(run) % seeds.size()];
        if (run >= static_cast<long>(seeds.size())) mutate(text, random);
        // A copy of exact size, so that a sanitizer sees every read behind the end.
        const std::vector<std::uint8_t> bytes(text.begin(), text.end());
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    return 0;
}
