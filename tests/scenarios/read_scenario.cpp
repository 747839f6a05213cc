#include <cctype>
#include <set>
#include <sstream>

#include "base/hash.h"
#include "base/json_write.h"
#include "engine/message_tools.h"
#include "palimpsest/format.h"
#include "palimpsest/tokenizer.h"
#include "scenarios/scenario.h"

namespace palimpsest {
namespace {

const std::set<std::string> expectations = {
    "outcome", "trigger", "level",     "refused", "view",  "text",          "lacks",
    "equals",  "used",    "summaries", "floor",   "after", "first_changed", "pays"};

std::uint64_t count_words(std::string_view text) {
    std::uint64_t words = 0;
    bool inside = false;
    for (const char c : text) {
        const bool letter = !std::isspace(static_cast<unsigned char>(c));
        words += letter && !inside ? 1 : 0;
        inside = letter;
    }
    return words;
}

// "{12 words}" becomes w1 w2 ... w12.
std::string expand(std::string text) {
    for (std::size_t at = 0; (at = text.find('{', at)) != std::string::npos; ++at) {
        const std::size_t end = text.find(" words}", at);
        if (end == std::string::npos) break;
        const std::string number = text.substr(at + 1, end - at - 1);
        if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) continue;
        std::string words;
        for (int n = 1; n <= std::stoi(number); ++n)
            words += (n == 1 ? "w" : " w") + std::to_string(n);
        text.replace(at, end + 7 - at, words);
    }
    return text;
}

std::string first_word(std::string& rest) {
    const std::size_t space = rest.find(' ');
    std::string word = rest.substr(0, space);
    rest = space == std::string::npos ? "" : rest.substr(space + 1);
    while (!rest.empty() && rest.front() == ' ') rest.erase(0, 1);
    return word;
}

std::string text_block(std::string_view text) {
    return "{\"type\":\"text\",\"text\":" + json_string(text) + "}";
}

struct Call {
    std::string id, name, arguments;
};
struct Result_ {
    std::string id, text;
    bool error;
};

// Gathers lines until a message is complete, and writes it in the scenario's format.
class Writer {
public:
    explicit Writer(Scenario& scenario) : scenario_(scenario) {}

    void line(const std::string& word, std::string rest) {
        if (word != "call") flush_calls();
        if (word != "result" && word != "error") flush_results();
        if (word == "call") {
            const std::string id = first_word(rest), name = first_word(rest);
            calls_.push_back({id, name, rest.empty() ? "{}" : rest});
        } else if (word == "result" || word == "error") {
            const std::string id = first_word(rest);
            results_.push_back({id, rest, word == "error"});
        } else if (word == "think") {
            think_ = rest;
        } else if (word == "item") {
            add(rest);
        } else if (word == "image") {
            image(rest);
        } else {
            said(word == "answer" ? "assistant" : word, rest);
        }
    }
    void flush() {
        flush_calls();
        flush_results();
    }
    std::int64_t at = 0;

private:
    void add(const std::string& raw) {
        auto message = read_message(scenario_.format, make_bytes(raw));
        if (!message) {
            scenario_.fault = raw + ": " + message.error().message;
            return;
        }
        auto counted = word_tools().rewrite(*message, {});
        Item item;
        const Seq seq{scenario_.items.size() + 1};
        item.range = {seq, seq};
        item.message = *std::move(counted);
        item.tokens = item.message.count.tokens;
        if (at > 0) item.at = Time{std::chrono::seconds(at)};
        scenario_.items.push_back(std::move(item));
    }
    std::string thinking() {
        return R"({"type":"thinking","thinking":)" + json_string(std::exchange(think_, "")) +
               R"(,"signature":"sig"})";
    }
    void said(const std::string& role, const std::string& text) {
        if (role == "assistant" && !think_.empty() && scenario_.format == FormatId::anthropic)
            return add(R"({"role":"assistant","content":[)" + thinking() + "," + text_block(text) +
                       "]}");
        add("{\"role\":\"" + role + "\",\"content\":" + json_string(text) + "}");
    }
    void image(const std::string& text) {
        constexpr std::string_view url = "data:image/png;base64,iVBORw0KGgo=";
        std::string part;
        if (scenario_.format == FormatId::anthropic)
            part =
                R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}})";
        else if (scenario_.format == FormatId::openai_responses)
            part = R"({"type":"input_image","image_url":")" + std::string(url) + "\"}";
        else
            part = R"({"type":"image_url","image_url":{"url":")" + std::string(url) + "\"}}";
        const std::string type =
            scenario_.format == FormatId::openai_responses ? "input_text" : "text";
        add(R"({"role":"user","content":[)" + part + ",{\"type\":\"" + type +
            "\",\"text\":" + json_string(text) + "}]}");
    }
    void flush_calls() {
        if (calls_.empty()) return;
        std::vector<Call> calls = std::exchange(calls_, {});
        std::string list;
        for (const Call& call : calls) {
            std::string one;
            if (scenario_.format == FormatId::openai_responses) {
                add(R"({"type":"function_call","call_id":)" + json_string(call.id) + ",\"name\":" +
                    json_string(call.name) + ",\"arguments\":" + json_string(call.arguments) + "}");
                continue;
            }
            if (scenario_.format == FormatId::anthropic)
                one = R"({"type":"tool_use","id":)" + json_string(call.id) +
                      ",\"name\":" + json_string(call.name) + ",\"input\":" + call.arguments + "}";
            else
                one = R"({"id":)" + json_string(call.id) +
                      R"(,"type":"function","function":{"name":)" + json_string(call.name) +
                      ",\"arguments\":" + json_string(call.arguments) + "}}";
            list += (list.empty() ? "" : ",") + one;
        }
        if (scenario_.format == FormatId::anthropic)
            add(R"({"role":"assistant","content":[)" + (think_.empty() ? "" : thinking() + ",") +
                list + "]}");
        else if (scenario_.format == FormatId::openai_chat)
            add(R"({"role":"assistant","content":null,"tool_calls":[)" + list + "]}");
    }
    void flush_results() {
        if (results_.empty()) return;
        std::vector<Result_> results = std::exchange(results_, {});
        std::string list;
        for (const Result_& one : results) {
            if (scenario_.format == FormatId::openai_chat)
                add(R"({"role":"tool","tool_call_id":)" + json_string(one.id) +
                    ",\"content\":" + json_string((one.error ? "Error: " : "") + one.text) + "}");
            else if (scenario_.format == FormatId::openai_responses)
                add(R"({"type":"function_call_output","call_id":)" + json_string(one.id) +
                    ",\"output\":" + json_string((one.error ? "Error: " : "") + one.text) + "}");
            else
                list += (list.empty() ? "" : ",") +
                        (R"({"type":"tool_result","tool_use_id":)" + json_string(one.id)) +
                        ",\"content\":" + json_string(one.text) +
                        (one.error ? ",\"is_error\":true}" : "}");
        }
        if (!list.empty()) add(R"({"role":"user","content":[)" + list + "]}");
    }

    Scenario& scenario_;
    std::vector<Call> calls_;
    std::vector<Result_> results_;
    std::string think_;
};

void set_numbers(Scenario& scenario, std::string word, std::string rest) {
    Budget& budget = scenario.occasion.budget;
    while (!word.empty()) {
        const std::uint64_t number = std::stoull(first_word(rest));
        (word == "window"   ? budget.window
         : word == "reply"  ? budget.reply
         : word == "system" ? budget.system
                            : budget.tools) = number;
        word = first_word(rest);
    }
}

bool set_occasion(Scenario& scenario, const std::string& word, std::string rest) {
    Occasion& o = scenario.occasion;
    if (word == "usage") {
        o.reported_tokens = std::stoull(rest);
    } else if (word == "overflow") {
        o.overflow = true;
    } else if (word == "explicit") {
        o.explicitly = true;
    } else if (word == "now") {
        o.now = Time{std::chrono::seconds(std::stoll(rest))};
    } else if (word == "stalled") {
        const auto times = static_cast<std::uint32_t>(std::stoul(first_word(rest)));
        const std::uint64_t tokens = std::stoull(first_word(rest));
        o.stalls.push_back({hash_bytes(scenario.policy), rest, times, tokens});
    } else if (word == "pin") {
        scenario.items.at(std::stoul(rest) - 1).pinned = true;
    } else if (word == "prices") {
        o.model = {.name = "m",
                   .input_price = 1,
                   .cached_price = std::stod(first_word(rest)),
                   .cache_write_price = std::stod(rest),
                   .cache_least_tokens = 1};
    } else {
        return false;
    }
    return true;
}

}  // namespace

const Tokenizer& word_tokenizer() {
    static const std::shared_ptr<const Tokenizer> words =
        make_tokenizer({"words", scheme_own_first, count_words});
    return *words;
}

const MessageTools& word_tools() {
    static const std::unique_ptr<const MessageTools> tools = make_message_tools(word_tokenizer());
    return *tools;
}

Scenario read_scenario(const std::string& text) {
    Scenario scenario;
    Writer writer(scenario);
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
        if (line.empty() || line.front() == '#') continue;
        std::string rest = line;
        const std::string word = first_word(rest);
        if (expectations.contains(word)) {
            writer.flush();
            scenario.expected.push_back({number, word, expand(rest)});
        } else if (word == "policy") {
            scenario.policy = rest;
        } else if (word == "request") {
            const auto policy = policy_of_request(rest, scenario.format);
            if (policy)
                scenario.policy = *policy;
            else
                scenario.fault = rest + ": " + policy.error().message;
        } else if (word == "format") {
            scenario.format = format_by_name(rest).value_or(FormatId::openai_chat);
        } else if (word == "window" || word == "reply" || word == "system" || word == "tools") {
            if (word == "system" && !std::isdigit(static_cast<unsigned char>(rest.front())))
                writer.line(word, expand(rest));
            else
                set_numbers(scenario, word, rest);
        } else if (word == "at") {
            writer.at = std::stoll(rest);
        } else {
            if (word == "pin") writer.flush();
            if (!set_occasion(scenario, word, rest)) writer.line(word, expand(rest));
        }
    }
    writer.flush();
    scenario.items = arrange(std::move(scenario.items));
    scenario.occasion.totals = totals_of(scenario.items);
    return scenario;
}

}  // namespace palimpsest
