// One refused and one accepted fixture for every rule of the table, and whether repair mends it.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "base/media.h"
#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

constexpr FormatId chat = FormatId::openai_chat;
constexpr FormatId responses = FormatId::openai_responses;
constexpr FormatId anthropic = FormatId::anthropic;

enum class Mend : bool { no, yes };

struct Fixture {
    std::string rule;
    FormatId format = chat;
    std::size_t at = 0;
    Mend mend = Mend::yes;
    std::string refused;
    std::string accepted;
    CheckOptions options = {};
};

const std::string hello = R"({"role":"user","content":"hello"})";
const std::string call1 = R"({"role":"assistant","content":null,"tool_calls":[
    {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]})";
const std::string result1 = R"({"role":"tool","tool_call_id":"c1","content":"one"})";
const std::string item_call =
    R"({"type":"function_call","call_id":"c1","name":"f","arguments":"{}"})";
const std::string item_out = R"({"type":"function_call_output","call_id":"c1","output":"one"})";
const std::string item_rs =
    R"({"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"})";
const std::string use1 =
    R"({"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]})";
const std::string done1 =
    R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"}]})";
const std::string think = R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm",
    "signature":"sig"},{"type":"text","text":"answer"}]})";

std::string list(std::initializer_list<std::string> messages) {
    std::string out = "[";
    for (const std::string& message : messages) out += (out.size() > 1 ? "," : "") + message;
    return out + "]";
}

std::string body(const std::string& fields, const std::string& field, const std::string& messages) {
    return "{" + fields + ",\"" + field + "\":" + messages + "}";
}

std::string items(std::size_t count) {
    std::string out = "[";
    for (std::size_t i = 0; i < count; ++i) out += (i ? "," : "") + hello;
    return out + "]";
}

// The first bytes of a PNG of that width, one pixel high.
std::string png(unsigned width) {
    std::string bytes = std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    for (int shift = 24; shift >= 0; shift -= 8)
        bytes += static_cast<char>((width >> shift) & 255U);
    bytes += std::string("\0\0\0\1", 4);
    constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t i = 0; i + 2 < bytes.size(); i += 3) {
        const unsigned bits = (static_cast<unsigned char>(bytes[i]) << 16U) |
                              (static_cast<unsigned char>(bytes[i + 1]) << 8U) |
                              static_cast<unsigned char>(bytes[i + 2]);
        for (int shift = 18; shift >= 0; shift -= 6) out += letters[(bits >> shift) & 63U];
    }
    return out;
}

std::string image(unsigned width) {
    return R"({"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":)"
           R"("image/png","data":")" +
           png(width) + "\"}}]}";
}

std::vector<Message> log_of(const std::string& json) {
    return *read_messages(anthropic, make_bytes(json));
}

const std::vector<Message> thinking_log = log_of(list({hello, think}));

std::vector<Fixture> openai_chat_fixtures() {
    return {
        {"C1", chat, 1, Mend::yes, list({hello, result1}), list({hello, call1, result1})},
        {"C2", chat, 1, Mend::yes, list({hello, call1, hello, result1}),
         // C3 of the providers: the id comes again in a later round.
         list({hello, call1, result1, call1, result1, hello})},
        {"C3", chat, 0, Mend::yes,
         list({R"({"role":"assistant","tool_calls":[
             {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},
             {"id":"c1","type":"function","function":{"name":"g","arguments":"{}"}}]})",
               result1}),
         list({call1, result1})},
        {"C4",
         chat,
         0,
         Mend::yes,
         list({R"({"role":"developer","content":"x"})", hello}),
         list({hello}),
         {.model = "o1-mini"}},
        {"roles", chat, 0, Mend::yes, list({R"({"role":"critic","content":"x"})", hello}),
         list({R"({"role":"function","name":"f","content":"x"})", hello})},
        {"empty", chat, 1, Mend::yes, list({hello, R"({"role":"assistant","content":null})"}),
         list({hello, R"({"role":"assistant","content":""})"})},
        {"empty", chat, 1, Mend::yes,
         list({hello, R"({"role":"assistant","content":"x","tool_calls":[]})"}),
         list({hello, R"({"role":"assistant","content":"x","tool_calls":null})"})},
        {"duplicate_result", chat, 2, Mend::yes, list({call1, result1, result1}),
         list({call1, result1})},
        {"arguments", chat, 0, Mend::no,
         list({R"({"role":"assistant","tool_calls":[{"id":"c1","type":"function",
                "function":{"name":"f","arguments":"{\"a\":"}}]})",
               result1}),
         list({call1, result1})},
        {"shape", chat, 0, Mend::no, list({R"({"role":"user","content":7})"}), list({hello})},
        {"C5",
         chat,
         0,
         Mend::yes,
         list({R"({"role":"user","content":[{"type":"text","text":"hear"},
                  {"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]})"}),
         list({R"({"role":"user","content":[{"type":"text","text":"hear"}]})"}),
         {.model = "gpt-5-mini"}},
        {"C6", chat, 0, Mend::no,
         body(R"("model":"gpt-4o","web_search_options":{})", "messages", list({hello})),
         body(R"("model":"gpt-4o-search-preview","web_search_options":{})", "messages",
              list({hello}))},
        {"C7", chat, 1, Mend::yes,
         list({hello, R"({"role":"assistant","content":null,"audio":{"id":"audio_1","data":"AAAA",
               "transcript":"Hi","expires_at":99}})"}),
         list({hello, R"({"role":"assistant","content":null,"audio":{"id":"audio_1"}})"})},
        {"sampling", chat, 0, Mend::no, body(R"("temperature":-1)", "messages", list({hello})),
         body(R"("temperature":2,"top_p":1.0)", "messages", list({hello}))},
        {"sampling", anthropic, 0, Mend::no,
         body(R"("temperature":1.5)", "messages", list({hello})),
         body(R"("temperature":1)", "messages", list({hello}))},
        {"unfinished", chat, 1, Mend::yes,
         list({hello, R"({"role":"assistant","content":"so","_unfinished":[{}]})", hello}),
         list({hello, R"({"role":"assistant","content":"so"})", hello})},
        {"surrogates", chat, 0, Mend::yes, list({R"({"role":"user","content":"cut \ud83d here"})"}),
         list({R"({"role":"user","content":"whole \ud83d\ude00, and \\ud83d as text"})"})},
    };
}

std::vector<Fixture> openai_responses_fixtures() {
    const std::string trigger = R"({"type":"compaction_trigger"})";
    const std::string said = R"({"type":"message","role":"assistant","content":"x"})";
    return {
        {"R1", responses, 1, Mend::yes, list({hello, item_call}),
         // R3 of the providers: the output need not be adjacent.
         list({hello, item_call, said, item_out})},
        {"R2", responses, 1, Mend::yes, list({hello, item_out}),
         body(R"("previous_response_id":"resp_1")", "input", list({item_out}))},
        {"R3", responses, 1, Mend::yes, list({item_call, item_call, item_out}),
         list({item_call, item_out, item_call, item_out})},
        {"R4", responses, 1, Mend::yes, list({hello, item_rs, hello}),
         list({hello, item_rs, item_call, item_out})},
        {"R5", responses, 0, Mend::yes,
         body(R"("store":false)", "input",
              list({R"({"type":"reasoning","id":"rs_1","summary":[]})", said})),
         body(R"("store":false)", "input", list({item_rs, said}))},
        {"R6", responses, 0, Mend::yes, list({R"({"type":"reasoning","summary":[]})", said}),
         list({item_rs, said})},
        {"R7", responses, 0, Mend::no,
         body(R"("previous_response_id":"r","conversation":"c")", "input", list({hello})),
         body(R"("previous_response_id":"r","conversation":null)", "input", list({hello}))},
        {"R8", responses, 0, Mend::no, body(R"("truncation":"head")", "input", list({hello})),
         body(R"("truncation":"auto")", "input", list({hello}))},
        {"R9", responses, 0, Mend::no,
         body(R"("context_management":[{"type":"compaction","compact_threshold":999}])", "input",
              list({hello})),
         body(R"("context_management":[{"type":"compaction","compact_threshold":1000}])", "input",
              list({hello}))},
        {"R9", responses, 0, Mend::yes, list({trigger, hello}), list({hello, trigger})},
        {"R10", responses, 20, Mend::no, body(R"("metadata":{})", "items", items(21)),
         body(R"("metadata":{})", "items", items(20))},
        {"R12", responses, 0, Mend::no,
         body(R"("prompt_cache_key":")" + std::string(65, 'k') + "\"", "input", list({hello})),
         body(R"("prompt_cache_key":")" + std::string(64, 'k') + "\"", "input", list({hello}))},
        {"R13", responses, 0, Mend::no,
         body(R"("object":"response.compaction")", "output", list({said})),
         body(R"("object":"response.compaction")", "output",
              list({hello, R"({"type":"compaction","encrypted_content":"e"})"}))},
        {"R14", responses, 1, Mend::yes,
         list({item_call, R"({"type":"function_call_output","call_id":"c1","output":[{"type":
               "input_file","filename":"a.mp3","file_data":"data:audio/mpeg;base64,AAAA"}]})"}),
         list({item_call, R"({"type":"function_call_output","call_id":"c1","output":[{"type":
               "input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}]})"})},
        {"R14", responses, 1, Mend::yes,
         list({hello, R"({"role":"user","content":[{"type":"input_file",
               "file_url":"https://a.example/b.mp3?x=1"}]})"}),
         list({hello, R"({"role":"user","content":[{"type":"input_file",
               "file_url":"https://a.example/b.pdf?x=.mp3"}]})"})},
        {"duplicate_result", responses, 2, Mend::yes, list({item_call, item_out, item_out}),
         list({item_call, item_out})},
        {"roles", responses, 0, Mend::yes, list({R"({"role":"critic","content":"x"})", hello}),
         list({R"({"role":"developer","content":"x"})", hello})},
    };
}

std::vector<Fixture> anthropic_fixtures() {
    const std::string text_first = R"({"role":"user","content":[{"type":"text","text":"x"},
        {"type":"tool_result","tool_use_id":"t1","content":"one"}]})";
    const std::string results_first = R"({"role":"user","content":[
        {"type":"tool_result","tool_use_id":"t1","content":"one"},{"type":"text","text":"x"}]})";
    const std::string other_thought = R"({"role":"assistant","content":[{"type":"thinking",
        "thinking":"changed","signature":"sig"},{"type":"text","text":"answer"}]})";
    const std::string no_thought = R"({"role":"assistant","content":[{"type":"thinking",
        "thinking":"","signature":"sig"},{"type":"text","text":"answer"}]})";
    const std::string thoughtful = R"({"role":"assistant","content":[{"type":"thinking",
        "thinking":"hm","signature":"s"},{"type":"tool_use","id":"t1","name":"f","input":{}}]})";
    const std::string answer = R"({"role":"assistant","content":"x"})";
    const std::string marked = R"({"role":"user","content":[
        {"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]})";
    const std::string thinks = R"("thinking":{"type":"enabled","budget_tokens":1024},"tools":[{}])";
    return {
        {"A1", anthropic, 1, Mend::yes, list({hello, use1, hello}), list({hello, use1, done1})},
        {"A1", anthropic, 1, Mend::yes, list({hello, done1}), list({hello, use1, done1})},
        {"A2", anthropic, 2, Mend::yes, list({hello, use1, text_first}),
         list({hello, use1, results_first})},
        {"A3", anthropic, 1, Mend::no,
         body(R"("model":"m")", "messages", list({hello, use1, done1})),
         body(R"("tools":[{"name":"f"}])", "messages", list({hello, use1, done1}))},
        {"A4",
         anthropic,
         1,
         Mend::no,
         list({hello, other_thought, hello}),
         list({hello, think, hello}),
         {.log = thinking_log}},
        {"A5",
         anthropic,
         1,
         Mend::yes,
         list({hello, think, hello}),
         list({hello, answer, hello}),
         {.model = "claude-b", .reasoning_model = "claude-a"}},
        {"A6",
         anthropic,
         1,
         Mend::no,
         list({hello, no_thought, hello}),
         list({hello, think, hello}),
         {.log = thinking_log}},
        {"A7", anthropic, 1, Mend::no, body(thinks, "messages", list({hello, use1, done1})),
         body(thinks, "messages", list({hello, thoughtful, done1}))},
        {"A8", anthropic, 100000, Mend::no, items(100001), items(100000)},
        {"A9", anthropic, 0, Mend::no, list({image(8001)}), list({image(8000)})},
        {"A10", anthropic, 1, Mend::yes,
         list({hello, R"({"role":"assistant","content":[{"type":"compaction","content":""},
                         {"type":"text","text":"x"}]})",
               hello}),
         list({hello, R"({"role":"assistant","content":[{"type":"compaction","content":null},
                         {"type":"text","text":"x"}]})",
               hello})},
        {"A11", anthropic, 1, Mend::no,
         body(R"("model":"claude-opus-4-6")", "messages", list({hello, answer})),
         body(R"("model":"claude-sonnet-4-5")", "messages", list({hello, answer}))},
        {"A12", anthropic, 0, Mend::yes,
         body(R"("system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}])",
              "messages", list({marked, answer, marked, answer, marked, answer, marked})),
         body(R"("system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}])",
              "messages", list({hello, answer, marked, answer, marked, answer, marked}))},
        {"roles", anthropic, 0, Mend::yes,
         list({use1.substr(0, 8) + "\"user\"" + use1.substr(19), hello}), list({hello})},
        {"first", anthropic, 0, Mend::yes, list({answer, hello}), list({hello, answer, hello})},
        {"empty", anthropic, 0, Mend::yes,
         list({R"({"role":"user","content":[{"type":"text","text":""},
                   {"type":"text","text":"x"}]})"}),
         list({hello})},
        {"tool_id", anthropic, 1, Mend::yes,
         list({hello, R"({"role":"assistant","content":[{"type":"tool_use","id":"a.b","name":"f",
                          "input":{}}]})",
               R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"a.b",
                   "content":"x"}]})"}),
         list({hello, use1, done1})},
        {"duplicate_result", anthropic, 2, Mend::yes,
         list({hello, use1, R"({"role":"user","content":[
            {"type":"tool_result","tool_use_id":"t1","content":"one"},
            {"type":"tool_result","tool_use_id":"t1","content":"two"}]})"}),
         list({hello, use1, done1})},
        {"split_results", anthropic, 3, Mend::no,
         list({hello, R"({"role":"assistant","content":[
            {"type":"tool_use","id":"t1","name":"f","input":{}},
            {"type":"tool_use","id":"t2","name":"f","input":{}}]})",
               done1, R"({"role":"user","content":[
            {"type":"tool_result","tool_use_id":"t2","content":"two"}]})"}),
         list({hello, use1, done1})},
    };
}

std::vector<Fixture> fixtures() {
    std::vector<Fixture> all = openai_chat_fixtures();
    for (auto* more : {&openai_responses_fixtures, &anthropic_fixtures})
        for (Fixture& fixture : more()) all.push_back(std::move(fixture));
    return all;
}

bool has(const std::vector<Violation>& violations, const Fixture& fixture) {
    for (const Violation& violation : violations)
        if (violation.rule == fixture.rule && violation.at == fixture.at) return true;
    return false;
}

std::string shown(const std::vector<Violation>& violations) {
    std::string out;
    for (const Violation& violation : violations)
        out += std::string(violation.rule) + " at " + std::to_string(violation.at) + ": " +
               violation.message + "\n";
    return out;
}

}  // namespace

TEST(rules, each_refuses_its_fixture_where_it_is_broken_and_accepts_the_other) {
    for (const Fixture& fixture : fixtures()) {
        const auto refused = validate_json(fixture.format, fixture.refused, fixture.options);
        ASSERT_TRUE(refused) << fixture.rule << refused.error().message;
        EXPECT_TRUE(has(*refused, fixture)) << fixture.rule << "\n" << shown(*refused);
        const auto accepted = validate_json(fixture.format, fixture.accepted, fixture.options);
        ASSERT_TRUE(accepted) << fixture.rule << accepted.error().message;
        EXPECT_EQ(shown(*accepted), "") << fixture.rule;
    }
}

TEST(rules, every_one_has_a_fixture_but_what_only_the_service_knows) {
    std::set<std::string_view> missing;
    for (const Rule& rule : rule_table()) missing.insert(rule.id);
    const std::vector<Fixture> all = fixtures();
    for (const Fixture& fixture : all) missing.erase(fixture.rule);
    // R11 is about a second writer at the same time; json has its own test below.
    EXPECT_EQ(missing, (std::set<std::string_view>{"R11", "json"}));
}

TEST(rules, every_one_stands_in_the_docs_as_it_is) {
    std::ifstream file(PAL_SOURCE_DIR "/docs/FORMATS.md");
    const std::string docs(std::istreambuf_iterator<char>(file), {});
    for (const Rule& rule : rule_table()) {
        const std::string row = "| " + std::string(rule.id) + " | " + std::string(rule.format) +
                                " | " + std::string(severity_name(rule.severity)) + " | " +
                                std::string(rule.meaning) + " |";
        EXPECT_NE(docs.find(row), std::string::npos) << row;
    }
}

TEST(rules, refuse_duplicate_keys_before_anything_else) {
    const auto result = validate_json(chat, R"([{"role":"user","content":"a","content":"b"}])");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().param, "json");
}

TEST(repair, makes_every_mendable_fixture_sendable_and_says_what_it_did) {
    for (const Fixture& fixture : fixtures()) {
        if (fixture.mend == Mend::no) continue;
        const auto repaired = repair_json(fixture.format, fixture.refused, fixture.options);
        ASSERT_TRUE(repaired) << fixture.rule << repaired.error().message;
        EXPECT_FALSE(repaired->notes.empty()) << fixture.rule;
        const auto after = validate_json(fixture.format, repaired->json, fixture.options);
        ASSERT_TRUE(after);
        EXPECT_EQ(shown(*after), "") << fixture.rule << "\n" << repaired->json;
        const auto twice = repair_json(fixture.format, repaired->json, fixture.options);
        EXPECT_EQ(twice->json, repaired->json) << fixture.rule;
    }
}

TEST(repair, puts_another_character_where_half_of_a_pair_stands) {
    const std::string cut =
        R"([{"role":"user","content":"a\ud83d b\ude00\n\ud83d\ude00 c\udfff"}])";
    const auto repaired = repair_json(anthropic, cut, {});
    ASSERT_TRUE(repaired) << repaired.error().message;
    EXPECT_EQ(repaired->json,
              R"([{"role":"user","content":"a\ufffd b\ufffd\n\ud83d\ude00 c\ufffd"}])");
    EXPECT_EQ(repaired->notes.size(), 1u);
}

TEST(repair, leaves_accepted_histories_byte_for_byte) {
    for (const Fixture& fixture : fixtures()) {
        if (fixture.rule == "A8") continue;  // 100,000 messages, and nothing to mend in them
        const auto repaired = repair_json(fixture.format, fixture.accepted, fixture.options);
        ASSERT_TRUE(repaired) << fixture.rule << repaired.error().message;
        EXPECT_EQ(repaired->json, fixture.accepted) << fixture.rule;
        EXPECT_TRUE(repaired->notes.empty()) << fixture.rule;
    }
}

TEST(repair, leaves_calls_at_the_end_open_when_asked) {
    const CheckOptions open{.open_end = true};
    const std::pair<FormatId, std::string> histories[] = {
        {chat, list({hello, call1})},
        {responses, list({hello, item_rs, item_call})},
        {anthropic, list({hello, use1})},
    };
    for (const auto& [format, json] : histories) {
        EXPECT_TRUE(is_sendable(*validate_json(format, json, open)));
        EXPECT_EQ(repair_json(format, json, open)->json, json);
        EXPECT_FALSE(is_sendable(*validate_json(format, json)));
        EXPECT_NE(repair_json(format, json)->json, json);
    }
}

TEST(repair, puts_a_call_back_that_the_log_still_has) {
    const std::vector<Message> log =
        *read_messages(chat, make_bytes(list({hello, call1, result1})));
    const auto repaired = repair_json(chat, list({hello, result1, hello}), {.log = log});
    ASSERT_TRUE(repaired);
    EXPECT_EQ(repaired->json, list({hello, call1, result1, hello}));
    ASSERT_EQ(repaired->notes.size(), 1u);
    EXPECT_EQ(repaired->notes[0].at, 1u);
    EXPECT_EQ(repaired->notes[0].what, "put back the call \"c1\" from the log");
}

TEST(repair, moves_late_results_behind_their_calls_without_touching_their_bytes) {
    const auto moved = repair_json(chat, list({call1, hello, result1}));
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->json, list({call1, result1, hello}));
    const auto turn = repair_json(anthropic, list({hello, use1, hello, use1, done1, done1}));
    ASSERT_TRUE(turn);
    EXPECT_TRUE(is_sendable(*validate_json(anthropic, turn->json))) << turn->json;
}

std::string user_blocks(const std::string& block, std::size_t count) {
    std::string blocks;
    for (std::size_t i = 0; i < count; ++i) blocks += (i ? "," : "") + block;
    return R"([{"role":"user","content":[)" + blocks + "]}]";
}

std::string image_block(const std::string& data) {
    return R"({"type":"image","source":{"type":"base64","media_type":"image/png","data":")" + data +
           "\"}}";
}

TEST(limits, hold_for_the_bytes_and_pictures_of_a_request) {
    const auto rules = [](const std::string& json) {
        return shown(*validate_json(anthropic, json));
    };
    const std::string five_mb(5 * 1024 * 1024 / 3 * 4, 'A');
    EXPECT_EQ(rules(user_blocks(image_block(five_mb), 1)), "");
    EXPECT_NE(rules(user_blocks(image_block(five_mb + "AAAAAAAA"), 1)).find("A9"),
              std::string::npos);
    // Above twenty pictures a side has at most 2000 pixels.
    EXPECT_EQ(rules(user_blocks(image_block(png(2001)), 20)), "");
    EXPECT_NE(rules(user_blocks(image_block(png(2001)), 21)).find("A9"), std::string::npos);
    EXPECT_EQ(rules(user_blocks(image_block(png(2000)), 21)), "");
    const auto text = [](std::size_t bytes) {
        return R"([{"role":"user","content":")" + std::string(bytes, 'x') + "\"}]";
    };
    EXPECT_EQ(rules(text(32 * 1024 * 1024 - 100)), "");
    EXPECT_NE(rules(text(32 * 1024 * 1024)).find("A9"), std::string::npos);
}

TEST(image_size, reads_the_headers_of_common_formats) {
    EXPECT_EQ(image_size(png(1234))->width, 1234u);
    EXPECT_EQ(image_size("R0lGODlhAQACAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAIAAAICRAEAOw==")->height,
              2u);
    // WebP in its three kinds, 550 x 368 pixels each: lossy, lossless, extended.
    for (const std::string_view webp : {"UklGRgAAAABXRUJQVlA4IAAAAAAwAACdASomAnABPm0=",
                                        "UklGRgAAAABXRUJQVlA4TAAAAAAvJcJbAAAAAAAAAAA=",
                                        "UklGRgAAAABXRUJQVlA4WAoAAAAQAAAAJQIAbwEAQUw="}) {
        const auto size = image_size(webp);
        ASSERT_TRUE(size) << webp;
        EXPECT_EQ(size->width, 550u) << webp;
        EXPECT_EQ(size->height, 368u) << webp;
    }
    EXPECT_FALSE(image_size("AAAA"));
    EXPECT_FALSE(image_size(""));
    EXPECT_EQ(base64_bytes("QUJD"), 3u);
    EXPECT_EQ(base64_bytes("QUI="), 2u);
}
