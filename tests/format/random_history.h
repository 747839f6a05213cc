// Random histories, broken in every way that pairs, reasoning and roles can be.
#pragma once
#include <random>
#include <string>
#include <vector>

#include "palimpsest/format.h"

namespace palimpsest::test {

class RandomHistory {
public:
    RandomHistory(FormatId format, unsigned seed) : format_(format), random_(seed) {}

    std::string json() {
        std::string out = "[" + user();
        for (std::size_t n = below(12); n > 0; --n) out += "," + message();
        return out + "]";
    }

private:
    std::size_t below(std::size_t n) { return random_() % n; }
    std::string id() { return std::string("c") + static_cast<char>('0' + below(3)); }
    std::string text() { return below(8) == 0 ? "" : "word" + std::to_string(below(100)); }

    std::string user() { return R"({"role":"user","content":"u)" + text() + "\"}"; }

    std::string message() {
        if (format_ == FormatId::openai_chat) return chat_message();
        if (format_ == FormatId::openai_responses) return item();
        return blocks_message();
    }

    std::string chat_message() {
        switch (below(8)) {
            case 0:
                return user();
            case 1:
                return R"({"role":"system","content":")" + text() + "\"}";
            case 2:
                return R"({"role":"assistant","content":")" + text() + "\"}";
            case 3:
                return R"({"role":"assistant","content":null,"tool_calls":[]})";
            case 4:
            case 5: {
                std::string calls;
                for (std::size_t n = 1 + below(3); n > 0; --n)
                    calls += (calls.empty() ? "" : ",") + std::string(R"({"id":")") + id() +
                             R"(","type":"function","function":{"name":"f","arguments":"{)" +
                             (below(5) ? "}" : "") + "\"}}";
                return R"({"role":"assistant","content":null,"tool_calls":[)" + calls + "]}";
            }
            default:
                return R"({"role":"tool","tool_call_id":")" + id() + R"(","content":")" + text() +
                       "\"}";
        }
    }

    std::string item() {
        switch (below(9)) {
            case 0:
                return user();
            case 1:
                return R"({"type":"message","role":"assistant","content":")" + text() + "\"}";
            case 2:
                return R"({"type":"reasoning","id":"rs_)" + id() + R"(","summary":[]})";
            case 3:
                return R"({"type":"reasoning","summary":[]})";
            case 4:
                return R"({"type":"web_search_call","id":"ws","status":"completed"})";
            case 5:
            case 6:
                return R"({"type":"function_call","call_id":")" + id() +
                       R"(","name":"f","arguments":"{}"})";
            default:
                return R"({"type":"function_call_output","call_id":")" + id() +
                       R"(","output":"x"})";
        }
    }

    std::string block() {
        switch (below(6)) {
            case 0:
            case 1:
                return R"({"type":"tool_use","id":")" + id() + R"(","name":"f","input":{}})";
            case 2:
            case 3:
                return R"({"type":"tool_result","tool_use_id":")" + id() + R"(","content":"x"})";
            case 4:
                return R"({"type":"thinking","thinking":"t","signature":"s"})";
            default:
                return R"({"type":"text","text":")" + text() + "\"}";
        }
    }

    std::string blocks_message() {
        const char* const roles[] = {"user", "assistant", "assistant", "user", "system"};
        std::string blocks;
        for (std::size_t n = below(5); n > 0; --n) blocks += (blocks.empty() ? "" : ",") + block();
        return std::string(R"({"role":")") + roles[below(5)] + R"(","content":[)" + blocks + "]}";
    }

    FormatId format_;
    std::minstd_rand random_;
};

}  // namespace palimpsest::test
