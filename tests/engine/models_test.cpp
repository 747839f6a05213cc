// What is known about models, by the user's own rows and by what services report.
#include <gtest/gtest.h>

#include "engine/calibrate.h"
#include "engine/settings.h"
#include "palimpsest/memory.h"
#include "support/engine.h"
#include "token/models.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

TEST(model_settings, are_read_from_the_file) {
    const auto read = read_model_settings(R"(
store = "memory:"
[models.my-llama]
window = 32768
output = 4096
encoding = "cl100k_base"
prices = { input = 1, cached = 0.25, output = 2.5 }
[models."gpt-4.1"]
window = 500
)",
                                          "palimpsest.toml");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->models.size(), 2u);
    EXPECT_TRUE(read->endpoints.empty());
    const ModelTable table(read->models, {});
    const ModelSpec& llama = table.find("my-llama-70b");
    EXPECT_EQ(llama.window_tokens, 32768u);
    EXPECT_EQ(llama.output_tokens, 4096u);
    EXPECT_EQ(llama.encoding, "cl100k_base");
    EXPECT_EQ(llama.prices.input, 1);
    EXPECT_EQ(llama.prices.output, 2.5);
    EXPECT_LT(llama.prices.cache_write, 0);  // not said, not known
    EXPECT_EQ(table.find("gpt-4.1").window_tokens, 500u);
    EXPECT_EQ(table.find("gpt-4.1").encoding, "o200k_base");  // as it is built in
}

TEST(model_settings, say_where_a_model_is) {
    const auto read = read_model_settings(R"(
[models.local]
url = "http://localhost:11434/v1"
format = "anthropic"
model = "llama3.1:8b"
key_env = "LOCAL_KEY"
parameters = { temperature = 0.5, stop = ["a", "b"], seed = 7 }
headers = { "x-team" = "blue" }
retries = 0
idle_timeout_ms = 900
window = 100
)",
                                          "palimpsest.toml");
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->endpoints.size(), 1u);
    const Endpoint& local = read->endpoints[0];
    EXPECT_EQ(local.name, "local");
    EXPECT_EQ(local.model, "llama3.1:8b");
    EXPECT_EQ(local.url, "http://localhost:11434/v1");
    EXPECT_EQ(local.format, FormatId::anthropic);
    EXPECT_EQ(local.key_env, "LOCAL_KEY");
    EXPECT_EQ(local.parameters, R"({"seed":7,"stop":["a","b"],"temperature":0.5})");
    EXPECT_EQ(local.headers.at(0).second, "blue");
    EXPECT_EQ(local.retries, 0);
    EXPECT_EQ(local.idle_timeout_ms, 900);
    EXPECT_EQ(read->models.at(0).window_tokens, 100u);
}

// A request to a format that insists on a limit is sent one, and so much is kept for the answer.
TEST(model_settings, keep_for_the_answer_what_a_request_will_ask_for) {
    const auto read = read_model_settings(R"(
[models.fast]
format = "anthropic"
model = "claude-sonnet-4-5"
[models.brief]
format = "anthropic"
model = "claude-sonnet-4-5"
output = 500
[models.small]
format = "anthropic"
model = "claude-sonnet-4-5"
window = 8000
[models.set]
format = "anthropic"
model = "claude-sonnet-4-5"
parameters = { max_tokens = 700 }
[models.other]
format = "openai_chat"
model = "gpt-4o"
url = "http://localhost:1/v1"
)",
                                          "palimpsest.toml");
    ASSERT_TRUE(read) << read.error().message;
    const ModelTable table(read->models, {});
    const auto sent = [&](std::string_view name) {
        for (const Endpoint& endpoint : read->endpoints)
            if (endpoint.name == name) return endpoint.output_tokens;
        return UINT32_MAX;
    };
    EXPECT_EQ(table.find("fast").reply_tokens, 64000u);
    EXPECT_EQ(sent("fast"), 64000u);
    EXPECT_EQ(table.find("brief").reply_tokens, 500u);
    EXPECT_EQ(sent("brief"), 500u);
    EXPECT_EQ(table.find("small").reply_tokens, 4000u);
    EXPECT_EQ(sent("small"), 4000u);
    EXPECT_EQ(table.find("set").reply_tokens, 700u);
    EXPECT_EQ(table.find("other").reply_tokens, 0u);
    EXPECT_EQ(table.find("claude-sonnet-4-5").reply_tokens, 64000u) << "nobody set it up";
    const ModelTable less({{.name = "claude-sonnet-4-5", .output_tokens = 900}}, {});
    EXPECT_EQ(less.find("claude-sonnet-4-5").reply_tokens, 900u);
}

TEST(model_settings, give_a_name_that_nobody_knows_all_that_is_known_of_the_model_behind_it) {
    const auto read = read_model_settings(
        "[models.fast]\nformat = \"anthropic\"\nmodel = \"claude-sonnet-4-5\"\n",
        "palimpsest.toml");
    ASSERT_TRUE(read) << read.error().message;
    const ModelTable table(read->models, {});
    EXPECT_EQ(table.find("fast").cache.least_tokens, 1024u);
    EXPECT_TRUE(table.find("fast").cache.marked);
    EXPECT_EQ(table.find("fast").prices.cached, 0.3);
    EXPECT_EQ(table.find("fast").images, table.find("claude-sonnet-4-5").images);
}

TEST(model_settings, say_where_they_are_wrong) {
    for (const char* bad :
         {"models = 3", "[models]\nx = 3", "[models.x]\nwindow = 0",
          "[models.x]\nwindow = \"many\"", "[models.x]\nencoding = \"words\"",
          "[models.x]\nprices = { input = -1 }", "[models.x]\nprices = { inptu = 1 }",
          "[models.x]\nwindows = 5", "[models.x]\nurl = 5", "[models.x]\nformat = \"gemini\"",
          "[models.x]\nretries = -1", "[models.x]\nparameters = 1"}) {
        const auto models = read_model_settings(bad, "palimpsest.toml");
        ASSERT_FALSE(models) << bad;
        EXPECT_EQ(models.error().code, ErrorCode::invalid_request);
        EXPECT_TRUE(models.error().message.starts_with("palimpsest.toml line ")) << bad;
    }
}

TEST(models, a_new_name_for_a_known_model_has_its_window_and_prices) {
    const auto read = read_model_settings(R"(
[models.fast]
model = "gpt-4o-mini"
prices = { input = 9 }
[models.other]
model = "nobody-knows-it"
)",
                                          "palimpsest.toml");
    ASSERT_TRUE(read) << read.error().message;
    const ModelSpec& known = *find_model("gpt-4o-mini").spec;
    const OwnModel& fast = read->models.at(0);
    EXPECT_EQ(fast.window_tokens, known.window_tokens);
    EXPECT_EQ(fast.encoding, known.encoding);
    EXPECT_EQ(fast.input_price, 9);
    EXPECT_EQ(fast.output_price, known.prices.output);
    EXPECT_FALSE(read->models.at(1).window_tokens);
}

TEST(models, an_unknown_one_is_warned_of_once) {
    std::vector<std::string> warnings;
    Memory memory(memory_store(),
                  {.warn = [&](std::string_view message) { warnings.emplace_back(message); }});
    const std::string hello = user("hello");
    for (const char* model : {"gpt-4o", "mystery-1", "mystery-1", "", "mystery-2"})
        ASSERT_TRUE(memory.begin(alice, {.messages = hello, .model = model}));
    ASSERT_EQ(warnings.size(), 2u);
    EXPECT_NE(warnings[0].find("mystery-1"), std::string::npos);
    EXPECT_NE(warnings[0].find("8192 tokens"), std::string::npos);
}

TEST(models, one_with_another_vocabulary_is_counted_with_that) {
    // Five tokens by o200k, eight by cl100k, and as many around the message.
    const std::string text = "\u043f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440";
    const auto o200k = exact_tokenizer()->count(text);
    const auto cl100k = (*open_tokenizer("cl100k_base"))->count(text);
    ASSERT_NE(o200k, cl100k);
    const auto expected = [&](const MemoryOptions& options, const char* model) {
        Memory memory(memory_store(), options);
        const auto begun = memory.begin(alice, {.messages = user(text), .model = model});
        EXPECT_TRUE(begun);
        return begun->tokens_expected;
    };
    const std::uint64_t around = expected({}, "gpt-4o") - o200k;
    EXPECT_EQ(expected({}, "gpt-4-0613"), cl100k + around);
    EXPECT_EQ(expected({.tokenizer = approx_tokenizer()}, "gpt-4-0613"),
              (text.size() + 3) / 4 + around)
        << "the user chose how to count";
}

TEST(calibration, is_learned_from_usage_and_kept_in_the_store) {
    Memory memory = open_memory();
    const std::string text = user("The service counts these words in its own way.");
    int turns = 0;
    const auto turn = [&](std::uint64_t reported) {
        const ConversationId name{"t", "c" + std::to_string(++turns)};
        const auto begun = memory.begin(name, {.messages = text, .model = "claude-sonnet-4-5"});
        EXPECT_TRUE(begun);
        Answer answer{.message = *make_message(FormatId::openai_chat, Role::assistant, "yes")};
        answer.usage.input = reported;
        EXPECT_TRUE(memory.finish(*begun, answer));
        return begun->tokens_expected;
    };
    const std::uint64_t first = turn(40);
    EXPECT_LT(first, 30u);  // ten words, and what is known about the service
    for (int i = 0; i < 20; ++i) turn(40);
    const std::uint64_t learned = turn(40);
    EXPECT_GE(learned, 38u);
    EXPECT_LE(learned, 42u);
    const auto record =
        memory.store().get_record(calibration_key("t", "claude-sonnet-4-5", "o200k_base"));
    ASSERT_TRUE(record);
    EXPECT_NE(record->value.find("\"samples\":22"), std::string::npos) << record->value;
}

TEST(calibration, is_written_for_many_calls_together_once_much_is_known) {
    const std::shared_ptr<Store> store = memory_store();
    const RecordKey key = calibration_key("t", "claude-sonnet-4-5", "o200k_base");
    const Calibration start(*find_model("claude-sonnet-4-5").spec);
    const CalibrationSample sample{{.messages = 30, .shape = {.messages = 3}}, 40};
    const auto samples = [&] {
        return load_calibration(*store, key, start)->calibration.state().samples;
    };
    Calibrations here, elsewhere;
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(here.learn(*store, key, start, sample));
    EXPECT_EQ(samples(), 32u);
    EXPECT_EQ(here.find(*store, key, start)->state().samples, 40u);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(elsewhere.learn(*store, key, start, sample));
    here.write(*store);
    elsewhere.write(*store);
    here.write(*store);
    EXPECT_EQ(samples(), 45u);
}

TEST(calibration, starts_anew_from_a_record_that_it_cannot_read) {
    auto store = memory_store();
    const ModelSpec& model = *find_model("claude-sonnet-4-5").spec;
    const RecordKey key = calibration_key("t", "claude-sonnet-4-5", "o200k_base");
    for (const char* value : {"", "{}", R"({"samples":3,"error":0,"weights":[1],"spread":[]})"}) {
        RecordWrite write;
        write.key = key;
        write.value = value;
        ASSERT_TRUE(store->put_record(write));
        const auto stored = load_calibration(*store, key, Calibration(model));
        ASSERT_TRUE(stored);
        EXPECT_EQ(stored->calibration.state().weights, Calibration(model).state().weights);
        EXPECT_GT(stored->version, 0u);
    }
}

TEST(calibration, does_not_touch_models_with_a_public_vocabulary) {
    Memory memory = open_memory();
    const std::string hello = user("hello");
    const auto begun = memory.begin(alice, {.messages = hello, .model = "gpt-4o"});
    ASSERT_TRUE(begun);
    EXPECT_GT(begun->tokens_expected, 1u);
    Answer answer{.message = *make_message(FormatId::openai_chat, Role::assistant, "yes")};
    answer.usage.input = 500;
    ASSERT_TRUE(memory.finish(*begun, answer));
    EXPECT_TRUE(memory.store().list_records({.tenant = "t", .space = "calibration"})->empty());
}
