// Whole requests, the table of models, and what is learned from reported usage.
#include "token/request.h"

#include "token/encoding.h"
#include "token/estimator.h"
#include "token/media_tokens.h"
#include "token/tool_text.h"
#include "token/tool_tokens.h"

#include <gtest/gtest.h>

#include <set>

namespace palimpsest {
namespace {

std::uint64_t chat_total(std::string_view model, std::string_view body) {
    const ModelSpec& spec = *find_model(model).spec;
    const auto encoding = *open_encoding(spec.encoding);
    return count_chat_request(spec, *encoding->counter(), body).value().total();
}

TEST(models, the_longest_name_that_fits_wins) {
    EXPECT_EQ(find_model("gpt-4o-mini-2024-07-18").spec->name, "gpt-4o-mini");
    EXPECT_EQ(find_model("gpt-4o-2024-11-20").spec->name, "gpt-4o");
    EXPECT_EQ(find_model("gpt-4-0613").spec->encoding, "cl100k_base");
    EXPECT_EQ(find_model("claude-opus-4-5-20251101").spec->name, "claude-opus-4-5");
    EXPECT_EQ(find_model("claude-opus-4-20250514").spec->name, "claude-opus-4");
    EXPECT_EQ(find_model("gpt-5.4-mini").spec->name, "gpt-5.4-mini");
    EXPECT_EQ(find_model("gpt-5.1").spec->name, "gpt-5");
}

TEST(models, an_unknown_model_gets_the_conservative_default_and_says_so) {
    const ModelMatch match = find_model("mystery-9b");
    EXPECT_FALSE(match.known);
    EXPECT_EQ(match.spec->window_tokens, 8192u);
    EXPECT_FALSE(match.spec->exact);
}

TEST(models, every_row_is_usable) {
    std::set<std::string_view> names;
    for (const ModelSpec& spec : model_table()) {
        EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
        EXPECT_TRUE(open_encoding(spec.encoding)) << spec.name;
        EXPECT_LE(spec.output_tokens, spec.window_tokens) << spec.name;
        EXPECT_LE(spec.prices.cached, spec.prices.input) << spec.name;
    }
}

TEST(models, claude_keeps_for_the_answer_what_its_requests_must_name) {
    EXPECT_EQ(find_model("claude-sonnet-4-5-20250929").spec->reply_tokens, 64000u);
    EXPECT_EQ(find_model("claude-3-haiku-20240307").spec->reply_tokens, 4096u);
    EXPECT_EQ(find_model("claude-opus-4-6").spec->window_tokens, 1000000u);
    EXPECT_EQ(find_model("gpt-4o").spec->reply_tokens, 0u) << "no limit is sent";
}

// 3 for the reply, and for each message 3, the role and the text.
TEST(chat_request, text_costs_its_tokens_and_seven) {
    EXPECT_EQ(chat_total("gpt-4o", R"({"messages":[{"role":"user","content":"hello world"}]})"),
              9u);
    EXPECT_EQ(chat_total("gpt-5", R"({"messages":[{"role":"user","content":"hello world"}]})"), 8u);
    EXPECT_EQ(chat_total("gpt-4o", R"({"messages":[{"role":"user","content":[
        {"type":"text","text":"hello"},{"type":"text","text":" world"}]}]})"),
              9u);
    EXPECT_EQ(chat_total("gpt-4o",
                         R"({"messages":[{"role":"user","name":"al","content":"hello world"}]})"),
              11u);
}

constexpr std::string_view weather = R"([{"type":"function","function":{"name":"get_weather",
    "description":"Tell it.\n  For a city.","parameters":{"type":"object","required":["city"],"properties":{
    "city":{"type":"string","description":"Where"},"days":{"type":"integer","default":1},
    "unit":{"enum":["C","F"]},"at":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"number"}}]},
    "more":{"$ref":"#/$defs/More"}},"$defs":{"More":{"type":"object","properties":{"x":{"type":"boolean"}}}}}}},
    {"type":"function","function":{"name":"stop","parameters":{"type":"object","properties":{}}}}])";

TEST(tool_text, is_a_declaration_of_the_functions) {
    const auto tools = parse_json(weather);
    ASSERT_TRUE(tools) << tools.error().message;
    const ToolText declared = tool_text(tools->root());
    EXPECT_EQ(declared.typed_tools, 1u);
    EXPECT_EQ(declared.text, R"(namespace functions {

// Tell it.
For a city.
type get_weather = (_: {
// Where
city: string,
days?: number, // default: 1
unit?: "C" | "F",
at?: string | number[],
more?: {
x?: boolean,
},
}) => any;

type stop = () => any;

} // namespace functions)");
}

TEST(tool_text, a_schema_that_contains_itself_comes_to_an_end) {
    const auto tools = parse_json(
        R"([{"name":"f","type":"function","parameters":{"properties":{"a":{"$ref":"#/$defs/A"}},
        "$defs":{"A":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/$defs/A"}}}}}}])");
    ASSERT_TRUE(tools);
    EXPECT_LT(tool_text(tools->root()).text.size(), 100000u);
}

TEST(tool_tokens, are_what_a_request_is_charged_for_them) {
    const auto tokenizer = exact_tokenizer();
    const std::string words = R"({"messages":[{"role":"user","content":"hi"}])";
    for (const char* model : {"gpt-4o", "gpt-5"}) {
        const auto bare = chat_total(model, words + "}");
        const auto with = chat_total(model, words + ",\"tools\":" + std::string(weather) + "}");
        EXPECT_EQ(tool_tokens(*find_model(model).spec, *tokenizer, weather, false).total(),
                  with - bare);
    }
    const std::string blocks =
        R"([{"name":"stop","description":"Stop it","input_schema":{"type":"object"}}])";
    const ModelSpec& claude = *find_model("claude-sonnet-4-5").spec;
    const auto charged = count_messages_request(claude, *tokenizer->counter(),
                                                R"({"messages":[],"tools":)" + blocks + "}");
    EXPECT_EQ(tool_tokens(claude, *tokenizer, blocks, true).total(),
              charged->tools + charged->tool_overhead);
    // The Responses API takes less for having tools.
    const std::string flat =
        R"([{"type":"function","name":"f","parameters":{"type":"object","properties":{}}}])";
    EXPECT_EQ(tool_tokens(*find_model("gpt-4.1").spec, *tokenizer, flat, true).having, 3u);
    EXPECT_EQ(tool_tokens(*find_model("gpt-5").spec, *tokenizer, flat, true).having, 8u);
    for (const char* none : {"", "[]"})
        EXPECT_EQ(tool_tokens(claude, *tokenizer, none, true).total(), 0u);
}

TEST(chat_request, calls_and_results_repeat_the_tools_name) {
    const std::string_view before = R"({"messages":[{"role":"user","content":"hi"}]})";
    const std::string_view after = R"({"messages":[{"role":"user","content":"hi"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",
         "function":{"name":"stop","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c1","content":"done"}]})";
    // Two messages (3 and a role each), the name twice, arguments, content, and 5.
    EXPECT_EQ(chat_total("gpt-4o", after) - chat_total("gpt-4o", before), 4u + 4 + 2 + 1 + 1 + 5);
}

TEST(chat_request, refuses_what_is_not_a_request) {
    const ModelSpec& spec = *find_model("gpt-4o").spec;
    const auto encoding = *open_encoding("o200k_base");
    const auto counter = encoding->counter();
    EXPECT_FALSE(count_chat_request(spec, *counter, "[]"));
    EXPECT_FALSE(count_chat_request(spec, *counter, R"({"messages":7})"));
    EXPECT_FALSE(count_chat_request(spec, *counter, "{"));
}

TEST(image_tokens, follow_the_providers_formulas) {
    const ImageRule tiles{};
    EXPECT_EQ(image_tokens(tiles, {1024, 1024}, false), 765u);
    EXPECT_EQ(image_tokens(tiles, {2048, 4096}, false), 1105u);
    EXPECT_EQ(image_tokens(tiles, {4096, 8192}, true), 85u);
    const ImageRule patches{.kind = ImageRule::Kind::patches, .factor = 162};
    EXPECT_EQ(image_tokens(patches, {1024, 1024}, false), 1658u);
    EXPECT_EQ(image_tokens({.kind = ImageRule::Kind::patches}, {1800, 2400}, false), 1452u)
        << "scaled to 1056 by 1408";
    const ImageRule area{.kind = ImageRule::Kind::area};
    EXPECT_EQ(image_tokens(area, {1000, 750}, false), 1000u);
    EXPECT_EQ(image_tokens(area, {200, 200}, false), 53u);
}

// A picture of 2 by 3 pixels, as GIF.
constexpr std::string_view gif = "R0lGODlhAgADAIAAAAAAAP///yH5BAEAAAAALAAAAAACAAMAAAICRAEAOw==";

TEST(chat_request, media_count_by_what_they_hold) {
    const auto with = [](const std::string& part) {
        return chat_total("gpt-4o", R"({"messages":[{"role":"user","content":[)" + part + "]}]}");
    };
    const auto nothing = with("");
    const auto image = [&](const std::string& url) {
        return with(R"({"type":"image_url","image_url":{"url":")" + url + "\"}}") - nothing;
    };
    EXPECT_EQ(image("data:image/gif;base64," + std::string(gif)), 85u + 170) << "one tile";
    EXPECT_EQ(image("https://example.org/a.png"), 765u) << "taken to be 1024 by 1024";
    const auto file = [&](const std::string& url) {
        return with(R"({"type":"file","file":{"file_data":")" + url + "\"}}") - nothing;
    };
    EXPECT_EQ(file("data:text/plain;base64,aGVsbG8gd29ybGQ="), 2u) << "hello world";
    const std::string two_pages = "JVBERi0gL1R5cGUgL1BhZ2VzIC9UeXBlL1BhZ2UgL1R5cGUgL1BhZ2UK";
    EXPECT_EQ(file("data:application/pdf;base64," + two_pages), 2u * 220);
}

TEST(opaque_tokens, a_picture_in_it_is_a_picture_and_no_text) {
    const auto tokenizer = exact_tokenizer();
    const std::string before = R"({"type":"image_generation_call","id":"ig_1","result":)";
    const std::string data(100000, 'A');
    const std::uint64_t words = tokenizer->count(before + "}");
    const std::uint64_t picture =
        tokenizer->count_media({.kind = Media::Kind::image, .type = "image/png", .source = data});
    EXPECT_EQ(opaque_tokens(*tokenizer, before + "\"" + data + "\"}"), words + picture);
    EXPECT_EQ(opaque_tokens(*tokenizer, before + "null}"), tokenizer->count(before + "null}"));
    const std::string told = R"({"type":"document","text":")" + std::string(1000, 'a') + "\"}";
    EXPECT_EQ(opaque_tokens(*tokenizer, told), tokenizer->count(told)) << "has words of its own";
}

TEST(media_tokens_within, finds_what_results_show_in_every_format) {
    const auto tokenizer = exact_tokenizer();
    const auto within = [&](const std::string& content) {
        return media_tokens_within(*tokenizer, content);
    };
    const std::string data = "data:image/gif;base64," + std::string(gif);
    constexpr std::uint64_t unseen = 765, one_tile = 85 + 170;
    EXPECT_EQ(within(R"({"type":"computer_screenshot","image_url":")" + data + "\"}"), one_tile);
    EXPECT_EQ(within(R"({"type":"computer_screenshot","file_id":"f1"})"), unseen);
    EXPECT_EQ(within(R"([{"type":"input_image","image_url":")" + data + "\"}]"), one_tile);
    EXPECT_EQ(within(R"([{"type":"image_url","image_url":{"url":")" + data + "\"}}]"), one_tile);
    EXPECT_EQ(within(R"([{"type":"text","text":"see"},{"type":"image","source":{"type":"base64",)"
                     R"("media_type":"image/gif","data":")" +
                     std::string(gif) + "\"}}]"),
              one_tile);
    const std::string hello = "data:text/plain;base64,aGVsbG8gd29ybGQ=";
    EXPECT_EQ(within(R"([{"type":"input_file","file_data":")" + hello + "\"}]"), 2u);
    EXPECT_EQ(within(R"([{"type":"file","file":{"file_data":")" + hello + "\"}}]"), 2u);
    EXPECT_EQ(within(R"([{"type":"document","source":{"type":"text","data":"hello world"}}])"), 2u);
    EXPECT_EQ(within(R"({"type":"web_fetch_result","content":{"type":"document","source":{)"
                     R"("type":"text","data":"hello world"}}})"),
              2u);
    const std::string found = R"({"type":"search_result","title":"t","content":[]})";
    EXPECT_EQ(within("[" + found + "]"), tokenizer->count(found)) << "of a type not known";
    EXPECT_EQ(within(R"("an image of a cat")"), 0u);
    EXPECT_EQ(within(R"([{"type":"text","text":"an image"}])"), 0u);
}

TEST(byte_estimator, is_an_exponential_average_that_ignores_empty_samples) {
    ByteEstimator estimator;
    EXPECT_EQ(estimator.count(100), 25u);
    estimator.learn(100, 50);
    EXPECT_DOUBLE_EQ(estimator.tokens_per_byte(), 0.3);
    estimator.learn(0, 50);
    estimator.learn(100, 0);
    EXPECT_DOUBLE_EQ(estimator.tokens_per_byte(), 0.3);
    EXPECT_EQ(estimator.count(101), 31u);
}

TEST(calibration, finds_the_weights_of_a_service_and_reports_its_error) {
    Calibration calibration(*find_model("claude-sonnet-4-5").spec);
    const auto request = [](std::uint64_t text, std::uint32_t tools, std::uint32_t messages) {
        return RequestCount{.messages = text,
                            .tools = tools * std::uint64_t{60},
                            .shape = {.messages = messages, .tools = tools}};
    };
    // A service with its own prices: text 1.37, schemas 1.6, a message 6, a tool 20, tools 500.
    const auto charge = [](const RequestCount& count) {
        return static_cast<std::uint64_t>(
            1.37 * static_cast<double>(count.messages) + 1.6 * static_cast<double>(count.tools) +
            6.0 * (count.shape.messages + 1) + 20.0 * count.shape.tools +
            (count.shape.tools != 0 ? 500 : 0));
    };
    for (std::uint32_t i = 1; i <= 40; ++i) {
        const RequestCount count = request(i * 37 % 500 + 20, i % 3, i % 7 + 1);
        calibration.learn(count, charge(count));
    }
    EXPECT_LT(calibration.state().error, 0.02);
    const RequestCount next = request(1000, 2, 3);
    EXPECT_NEAR(static_cast<double>(calibration.estimate(next)), static_cast<double>(charge(next)),
                30);
    const Calibration restored(calibration.state());
    EXPECT_EQ(restored.estimate(next), calibration.estimate(next));
}

TEST(messages_request, counts_blocks_and_marks_tools_of_the_service) {
    const ModelSpec& spec = *find_model("claude-sonnet-4-5").spec;
    const auto encoding = *open_encoding("o200k_base");
    const auto counter = encoding->counter();
    const auto plain = count_messages_request(
        spec, *counter,
        R"({"system":"be brief","messages":[{"role":"user","content":"hello world"},
            {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"stop","input":{"a": 1}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"done"}]}],
            "tools":[{"name":"stop","input_schema":{"type":"object"}}]})");
    ASSERT_TRUE(plain);
    EXPECT_EQ(plain->messages, 2u + 2 + 1 + counter->count(R"({"a":1})") + 1);
    EXPECT_EQ(plain->tools, 1u + counter->count(R"({"type":"object"})"));
    EXPECT_FALSE(plain->server_tools);
    EXPECT_EQ(plain->shape.messages, 3u);
    EXPECT_EQ(plain->shape.calls, 1u);
    EXPECT_EQ(plain->shape.results, 1u);
    EXPECT_EQ(plain->shape.tools, 1u);
    const auto search = count_messages_request(
        spec, *counter,
        R"({"messages":[],"tools":[{"type":"web_search_20250305","name":"web_search"}]})");
    EXPECT_TRUE(search->server_tools);
}

TEST(messages_request, media_count_by_what_they_hold) {
    const ModelSpec& spec = *find_model("claude-sonnet-4-5").spec;
    const auto encoding = *open_encoding("o200k_base");
    const auto counter = encoding->counter();
    const auto count = [&](const std::string& source) {
        const std::string body =
            R"({"messages":[{"role":"user","content":[{"type":"document","source":{)" + source +
            "}}]}]}";
        return count_messages_request(spec, *counter, body).value();
    };
    EXPECT_EQ(count(R"("type":"text","media_type":"text/plain","data":"hello world")").messages,
              2u);
    EXPECT_EQ(count(R"("type":"url","url":"https://example.org/a.pdf")").media, 2000u);
    EXPECT_EQ(count(R"("type":"content","content":[{"type":"text","text":"hello"}])").messages, 1u);
    EXPECT_EQ(
        count(R"("type":"base64","media_type":"image/gif","data":")" + std::string(gif) + "\"")
            .media,
        0u)
        << "six pixels";
}

TEST(messages_request, leaves_out_what_the_service_leaves_out) {
    const ModelSpec& spec = *find_model("claude-sonnet-4-5").spec;
    const auto encoding = *open_encoding("o200k_base");
    const auto counter = encoding->counter();
    const auto count = [&](const std::string& body) {
        return count_messages_request(spec, *counter, body).value();
    };
    const std::string thought = R"({"role":"assistant","content":[{"type":"thinking",
        "thinking":"long ago"},{"type":"text","text":"yes"}]})";
    const std::string ask = R"({"role":"user","content":"hello"})";
    // Thinking counts in the turn that it belongs to, not in later ones.
    EXPECT_EQ(count(R"({"messages":[)" + ask + "," + thought + "]}").messages, 4u);
    EXPECT_EQ(count(R"({"messages":[)" + ask + "," + thought + "," + ask + "]}").messages, 3u);
    // A tool that is loaded later counts once a result refers to it.
    const std::string tools =
        R"("tools":[{"name":"stop","defer_loading":true,"input_schema":{"type":"object"}}]})";
    EXPECT_EQ(count(R"({"messages":[],)" + tools).tools, 0u);
    EXPECT_GT(count(R"({"messages":[{"role":"user","content":[{"type":"tool_result","content":
        [{"type":"tool_reference","tool_name":"stop"}]}]}],)" +
                    tools)
                  .tools,
              0u);
    const RequestCount ruled = count(
        R"({"messages":[],"tool_choice":{"type":"any"},"thinking":{"type":"enabled"},
            "output_config":{"format":{"schema":{"type":"object"}}}})");
    EXPECT_TRUE(ruled.shape.forced);
    EXPECT_TRUE(ruled.shape.thinking);
    EXPECT_EQ(ruled.shape.reply_schema, counter->count(R"({"type":"object"})"));
}

}  // namespace
}  // namespace palimpsest
