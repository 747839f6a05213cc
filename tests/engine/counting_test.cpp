// What messages cost: counted once when they are written, exactly, by whichever tokenizer.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/fold.h"
#include "engine/compact_document.h"
#include "engine/pooled_tokenizer.h"
#include "palimpsest/memory.h"
#include "support/engine.h"
#include "support/wrapped_store.h"
#include "token/models.h"
#include "token/request.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

// A tokenizer with one price for every text that is not empty, and how often it was asked.
struct FixedPrice {
    std::atomic<int> calls = 0;
    std::shared_ptr<const Tokenizer> tokenizer(std::uint64_t price, std::uint16_t scheme) {
        return make_tokenizer({"fixed", scheme, [this, price](std::string_view) {
                                   ++calls;
                                   return price;
                               }});
    }
};

Edit fold_of(std::uint64_t from, std::uint64_t to, std::string_view summary) {
    Edit edit;
    edit.treatment = Treatment::folded;
    edit.range = {Seq{from}, Seq{to}};
    edit.result = make_bytes(std::string(summary));
    return edit;
}

std::uint64_t basis_tokens(Memory& memory, const ConversationId& name) {
    const auto log = memory.log(name, {.kinds = basis_kinds});
    EXPECT_TRUE(log && !log->empty());
    return tokens_of(resolve_basis(log->back()));
}

}  // namespace

TEST(counting, is_exact_unless_asked_otherwise) {
    Memory exact = open_memory();
    Memory approx(memory_store(), {.tokenizer = approx_tokenizer()});
    for (Memory* memory : {&exact, &approx})
        ASSERT_TRUE(memory->append(alice, {.messages = user("Tokenization is exact here.")}));
    EXPECT_EQ(exact.view(alice)->tokens, 6u);   // Token|ization| is| exact| here|.
    EXPECT_EQ(approx.view(alice)->tokens, 7u);  // 27 bytes
}

// By the rules of token/request.cpp; `count` of the list says the same.
TEST(counting, parallel_calls_with_short_ids_count_what_joins_them) {
    const std::string call = R"(,"type":"function","function":{"name":"f","arguments":"{}"}})";
    const std::string list = R"([{"role":"user","content":"hi"},{"role":"assistant",)"
                             R"("content":null,"tool_calls":[{"id":"a")" +
                             call + R"(,{"id":"b")" + call +
                             R"(]},{"role":"tool","tool_call_id":"a","content":"short"},)"
                             R"({"role":"tool","tool_call_id":"b","content":"short"}])";
    const auto tokenizer = exact_tokenizer();
    const auto counter = tokenizer->counter();
    const auto charged =
        count_chat_request(*find_model("gpt-4o").spec, *counter, "{\"messages\":" + list + "}");
    ASSERT_TRUE(charged) << charged.error().message;
    const auto compacted = compact_document(list, {.policy = "none", .window = 100000}, *tokenizer);
    ASSERT_TRUE(compacted) << compacted.error().message;
    EXPECT_EQ(compacted->plan.used_before, charged->total());
}

TEST(counting, a_view_counts_what_a_request_is_charged_for) {
    const std::string list =
        R"([{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":)"
        R"("a","type":"function","function":{"name":"look","arguments":"{\"at\":1}"}}]},)"
        R"({"role":"tool","tool_call_id":"a","content":"short"},)"
        R"({"role":"assistant","content":"It is short."},{"role":"user","content":"thanks"}])";
    const std::string tools =
        R"([{"type":"function","function":{"name":"look","description":"Look at it","parameters":)"
        R"({"type":"object","properties":{"at":{"type":"integer"}}}}}])";
    const auto difference = [&](std::string_view model) {
        Memory memory = open_memory();
        const auto begun =
            memory.begin(alice, {.messages = list, .model = std::string(model), .tools = tools});
        EXPECT_TRUE(begun) << begun.error().message;
        const auto parts = memory.breakdown(alice, {.model = std::string(model), .tools = tools});
        EXPECT_TRUE(parts);
        const auto charged =
            count_chat_request(*find_model(model).spec, *exact_tokenizer()->counter(),
                               R"({"messages":)" + list + R"(,"tools":)" + tools + "}");
        return static_cast<std::int64_t>(parts->used) - static_cast<std::int64_t>(charged->total());
    };
    EXPECT_EQ(difference("gpt-5"), 0);
    EXPECT_EQ(difference("gpt-4o"), 6) << "around a call it takes what models take that think";
}

TEST(counting, parallel_items_count_no_less_than_what_joins_them) {
    const std::string call = R"({"type":"function_call","name":"f","arguments":"{}","call_id":)";
    const std::string result = R"({"type":"function_call_output","output":"short","call_id":)";
    const std::string list = R"([{"role":"user","content":"hi"},)" + call + R"("a"},)" + call +
                             R"("b"},)" + result + R"("a"},)" + result + R"("b"}])";
    const auto chat = convert_json(FormatId::openai_responses, FormatId::openai_chat, list);
    ASSERT_TRUE(chat) << chat.error().message;
    const auto charged =
        count_chat_request(*find_model("gpt-4o").spec, *exact_tokenizer()->counter(),
                           "{\"messages\":" + chat->json + "}");
    const auto compacted = compact_document(
        list, {.format = FormatId::openai_responses, .policy = "none", .window = 100000},
        *exact_tokenizer());
    ASSERT_TRUE(charged && compacted);
    EXPECT_GE(compacted->plan.used_before, charged->total());
}

// Ids are charged for by nobody, whatever their length; nor are signatures.
TEST(counting, blocks_count_as_whole_requests_do) {
    const std::string list =
        R"([{"role":"user","content":"hello world"},{"role":"assistant","content":[)"
        R"({"type":"thinking","thinking":"long ago","signature":"RXJvUEFBQUFBQkJCQkNDQ0M="},)"
        R"({"type":"tool_use","id":"toolu_01A09q90qw90lq917835lq9","name":"stop","input":{"a":1}}]},)"
        R"({"role":"user","content":[{"type":"tool_result",)"
        R"("tool_use_id":"toolu_01A09q90qw90lq917835lq9","content":"done"}]}])";
    const auto charged = count_messages_request(
        *find_model("claude").spec, *exact_tokenizer()->counter(), "{\"messages\":" + list + "}");
    const auto compacted =
        compact_document(list, {.format = FormatId::anthropic, .policy = "none", .window = 100000},
                         *exact_tokenizer());
    ASSERT_TRUE(charged && compacted);
    EXPECT_EQ(compacted->plan.used_before, charged->total());
}

TEST(counting, another_tokenizer_counts_what_is_shown_and_totals_stay_right) {
    auto store = memory_store();
    Traffic traffic;
    FixedPrice ten, seven;
    Memory first(std::make_unique<WrappedStore>(*store, traffic),
                 {.tokenizer = ten.tokenizer(10, 300)});
    for (const char* text : {"one", "two", "three", "four", "five"})
        ASSERT_TRUE(first.append(alice, {.messages = user(text)}));
    const auto before = first.view(alice);
    ASSERT_TRUE(first.splice(alice, *before, {fold_of(1, 3, "early")}, Cause::request));
    EXPECT_EQ(first.view(alice)->tokens, 30u);
    EXPECT_EQ(basis_tokens(first, alice), 30u);

    Memory second(std::make_unique<WrappedStore>(*store, traffic),
                  {.tokenizer = seven.tokenizer(7, 301)});
    EXPECT_EQ(second.view(alice)->tokens, 21u);
    EXPECT_EQ(seven.calls, 3);  // the summary, four and five; not what the summary stands for
    // An edit writes a basis: all of it is of the new scheme, also the summary that it keeps.
    ASSERT_TRUE(second.pin(alice, Seq{4}));
    EXPECT_EQ(basis_tokens(second, alice), 21u);
    ASSERT_TRUE(second.append(alice, {.messages = user("six")}));
    EXPECT_EQ(second.view(alice)->tokens, 28u);
    // And back again, through an undo, which folds from scratch.
    ASSERT_TRUE(first.undo(alice));
    EXPECT_EQ(basis_tokens(first, alice), 40u);
    EXPECT_EQ(first.view(alice)->tokens, 40u);
}

TEST(counting, a_reopened_store_is_not_counted_again) {
    auto store = memory_store();
    Traffic traffic;
    FixedPrice price;
    Memory first(std::make_unique<WrappedStore>(*store, traffic),
                 {.tokenizer = price.tokenizer(10, 300)});
    ASSERT_TRUE(first.append(alice, {.messages = user("one")}));
    const int calls = price.calls;
    Memory second(std::make_unique<WrappedStore>(*store, traffic),
                  {.tokenizer = price.tokenizer(10, 300)});
    EXPECT_EQ(second.view(alice)->tokens, 10u);
    EXPECT_EQ(price.calls, calls);
}

TEST(counting, threads_share_a_tokenizer_and_never_a_counter) {
    // Counts are only right if no other thread is inside the same counter.
    class Exclusive final : public TokenCounter {
    public:
        std::uint64_t count(std::string_view text) override {
            EXPECT_FALSE(inside_.exchange(true));
            std::this_thread::yield();
            inside_ = false;
            return text.size();
        }

    private:
        std::atomic<bool> inside_ = false;
    };
    class Source final : public Tokenizer {
    public:
        std::string_view name() const override { return "exclusive"; }
        std::uint16_t scheme() const override { return 302; }
        std::uint64_t count(std::string_view text) const override { return text.size(); }
        std::unique_ptr<TokenCounter> counter() const override {
            ++made;
            return std::make_unique<Exclusive>();
        }
        mutable std::atomic<int> made = 0;
    };
    const auto source = std::make_shared<Source>();
    const PooledTokenizer pooled(source);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 12; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 500; ++i) EXPECT_EQ(pooled.count("three"), 5u);
        });
    threads.clear();
    EXPECT_GE(source->made, 1);
    EXPECT_LT(source->made, 12 * 500);
}

// The seed's test: five messages of ten tokens each and a budget of 35 leave two. What a message
// costs is the user's to say; by o200k the same five are far below the budget.
TEST(counting, a_users_own_price_per_message_drives_the_budget) {
    FixedPrice ten;
    std::string list;
    for (const char* text : {"a", "b", "c", "d", "e"})
        list += (list.empty() ? "[" : ",") + user(text);
    list += "]";
    DocumentOptions options;
    options.policy = R"({"triggers":{"tokens":35},"passes":[{"pass":"keep_last","messages":2}]})";
    const auto fixed = compact_document(list, options, *ten.tokenizer(10, 300));
    ASSERT_TRUE(fixed) << fixed.error().message;
    EXPECT_EQ(fixed->json, "[" + user("d") + "," + user("e") + "]");
    const auto exact = compact_document(list, options, *exact_tokenizer());
    ASSERT_TRUE(exact) << exact.error().message;
    EXPECT_EQ(exact->json, list);
}

namespace {

std::string picture(std::size_t count) {
    const std::string one = R"({"type":"image_url","image_url":{"url":"http://x/y.png"}})";
    std::string parts;
    for (std::size_t n = 0; n < count; ++n) parts += (n == 0 ? "" : ",") + one;
    return R"({"role":"user","content":[)" + parts + "]}";
}

}  // namespace

TEST(counting, images_take_what_the_model_charges_for_them) {
    DocumentOptions options;
    options.window = 3'000;
    options.policy = "trim";
    const std::string list =
        "[" + picture(4) + "," + picture(4) + "," + user("what is there?") + "]";
    const auto done = compact_document(list, options, *exact_tokenizer());
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->plan.outcome, PlanOutcome::done);  // 8 times 765 do not fit.
    EXPECT_GT(done->plan.used_before, 6'000u);
    EXPECT_EQ(done->json, "[" + user("what is there?") + "]");
}

TEST(counting, a_turn_counts_images_by_the_rules_of_its_model) {
    const auto tokens_with = [](const char* model) {
        Memory memory(memory_store(), {});
        EXPECT_TRUE(memory.append(alice, {.messages = picture(1)}));
        const auto parts = memory.breakdown(alice, {.model = model});
        EXPECT_TRUE(parts);
        return parts ? parts->used : 0;
    };
    const std::uint64_t tiles = tokens_with("gpt-4o"), area = tokens_with("claude-sonnet-4-5"),
                        dear = tokens_with("gpt-4o-mini");
    EXPECT_GT(tiles, 700u);
    EXPECT_GT(area, 1'200u);
    EXPECT_GT(dear, 20'000u);
}

TEST(counting, a_body_is_compacted_as_the_model_that_it_names_counts) {
    const auto tokens = [](const std::string& model, const std::string& message) {
        const std::string body = R"({"model":")" + model + R"(","messages":[)" + message + "]}";
        const auto done = compact_document(body, {.policy = "none"});
        EXPECT_TRUE(done) << done.error().message;
        return done ? done->plan.used_before : 0;
    };
    const auto counted = [](const char* model, const std::string& message) {
        const ModelSpec& spec = *find_model(model).spec;
        const auto tokenizer = open_tokenizer(spec.encoding);
        const auto charged =
            count_chat_request(spec, *(*tokenizer)->counter(), R"({"messages":[)" + message + "]}");
        return charged ? charged->total() : 0;
    };
    const std::string chinese =
        user("\u8bf7\u5e2e\u6211\u67e5\u8be2\u8ba2\u5355\u72b6\u6001\uff0c\u8c22\u8c22\u3002");
    EXPECT_EQ(tokens("gpt-4", chinese), counted("gpt-4", chinese));
    EXPECT_EQ(tokens("gpt-4o", chinese), counted("gpt-4o", chinese));
    EXPECT_GT(tokens("gpt-4", chinese), tokens("gpt-4o", chinese));
    EXPECT_EQ(tokens("gpt-4o-mini", picture(1)), counted("gpt-4o-mini", picture(1)));
    EXPECT_GT(tokens("gpt-4o-mini", picture(1)), 20'000u);
}

TEST(counting, documents_that_are_words_are_cut_until_they_fit) {
    std::string words, base64;
    for (int n = 0; n < 3'000; ++n) words += "word ", base64 += "d29yZCB3b3Jk";  // "word word"
    const std::string plain =
        R"({"type":"document","source":{"type":"text","media_type":"text/plain","data":")" + words +
        "\"}}";
    const std::string asked = R"([{"role":"user","content":[{"type":"text","text":"hi"},)";
    const auto shortened = [](FormatId format, const std::string& list) {
        const auto done =
            compact_document(list, {.format = format, .window = 1'000}, *exact_tokenizer());
        EXPECT_TRUE(done) << done.error().message;
        if (!done) return std::string();
        EXPECT_LE(done->plan.used_after, 1'000u);
        EXPECT_GT(done->plan.used_after, 500u);
        return done->json;
    };
    EXPECT_TRUE(shortened(FormatId::anthropic, asked + plain + "]}]").contains("left out"));
    EXPECT_TRUE(shortened(FormatId::anthropic,
                          R"([{"role":"user","content":"hi"},{"role":"assistant","content":[)"
                          R"({"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"user",)"
                          R"("content":[{"type":"tool_result","tool_use_id":"a","content":[)" +
                              plain + R"(,{"type":"text","text":"ok"}]}]}])")
                    .contains(R"({"type":"text","text":"ok"}]}]}])"));
    EXPECT_TRUE(shortened(FormatId::openai_chat, asked +
                                                     R"({"type":"file","file":{"filename":"a.txt",)"
                                                     R"("file_data":"data:text/plain;base64,)" +
                                                     base64 + "\"}}]}]")
                    .contains("a.txt\\nword word"));
}

// The target is out of reach: the pass runs again over what it left.
TEST(counting, a_message_that_one_plan_cuts_twice_is_told_of_as_it_was) {
    std::string text;
    for (int n = 0; n < 900; ++n) text += "word" + std::to_string(n) + " ";
    const std::string list =
        R"([{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use",)"
        R"("id":"a","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result",)"
        R"("tool_use_id":"a","content":[{"type":"text","text":")" +
        text +
        R"("},{"type":"document","source":{"type":"text","media_type":"text/plain","data":")" +
        text + R"("}}]}]},{"role":"assistant","content":"ok"},{"role":"user","content":"next"}])";
    const auto done =
        compact_document(list,
                         {.format = FormatId::anthropic,
                          .policy = R"({"triggers":{"tokens":10},"target":0,)"
                                    R"("passes":[{"pass":"shorten","max_tokens":60}]})"},
                         *exact_tokenizer());
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(done->plan.edits.size(), 1u);
    const Edit& edit = done->plan.edits.front();
    EXPECT_EQ(edit.reason, "too large: " + std::to_string(edit.before.tokens + 4) + " tokens");
    EXPECT_TRUE(done->json.contains(" of " + std::to_string(2 * text.size()) + " bytes"))
        << done->json;
}

TEST(counting, escaped_arguments_are_cut_until_they_fit) {
    std::string smileys;
    for (int n = 0; n < 3'000; ++n) smileys += R"(\\ud83d\\ude00)";
    const std::string list =
        "[" + user("draw") +
        R"(,{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",)" +
        R"("function":{"name":"draw","arguments":"{\"it\":\")" + smileys + R"(\"}"}}]},)" +
        R"({"role":"tool","tool_call_id":"call_1","content":"ok"}])";
    for (const std::uint64_t window : {900, 2'000, 5'000, 20'000}) {
        DocumentOptions options;
        options.window = window;
        const auto done = compact_document(list, options, *exact_tokenizer());
        ASSERT_TRUE(done) << window << ": " << done.error().message;
        EXPECT_LE(done->plan.used_after, window);
    }
}

namespace {

// Three turns of the same Russian words: how many compactions a model's turns led to.
struct Compacted {
    int times = 0;
    std::uint64_t before = 0;  // tokens of the view that the last one found
};

Compacted turns_with(const char* model, std::uint64_t trigger) {
    const std::string text = "съешь ещё этих мягких французских булок, да выпей чаю";
    Memory memory(memory_store(), {.policy = R"({"triggers":{"tokens":)" + std::to_string(trigger) +
                                             R"(},"passes":[{"pass":"keep_last","turns":1}]})"});
    Compacted out;
    for (int turn = 0; turn < 3; ++turn) {
        const auto begun = memory.begin(alice, {.messages = user(text), .model = model});
        EXPECT_TRUE(begun);
        Answer answer{.message = *make_message(FormatId::openai_chat, Role::assistant, text)};
        EXPECT_TRUE(memory.finish(*begun, answer));
        if (!begun->compaction) continue;
        ++out.times;
        out.before = begun->compaction->tokens_before;
    }
    return out;
}

}  // namespace

TEST(counting, a_turn_is_measured_with_the_tokenizer_of_its_model) {
    const std::string text = "съешь ещё этих мягких французских булок, да выпей чаю";
    const auto o200k = exact_tokenizer()->count(text);
    const auto cl100k = (*open_tokenizer("cl100k_base"))->count(text);
    ASSERT_GT(cl100k, o200k + 8);
    // Five messages stand in the third turn: over the trigger for the one, below it for the other.
    const std::uint64_t trigger = 5 * (cl100k + o200k) / 2 + 20;
    EXPECT_EQ(turns_with("gpt-4o", trigger).times, 0);
    const Compacted other = turns_with("gpt-4-0613", trigger);
    EXPECT_EQ(other.times, 1);
    EXPECT_EQ(other.before, 5 * cl100k);
}

TEST(counting, a_measured_view_follows_edits_and_what_others_write) {
    const std::string text = "съешь ещё этих мягких французских булок, да выпей чаю";
    const auto cl100k = (*open_tokenizer("cl100k_base"))->count(text);
    Memory memory = open_memory();
    const auto messages = [&] {
        const auto told = memory.breakdown(alice, {.model = "gpt-4-0613"});
        EXPECT_TRUE(told);
        for (const auto& part : told->parts)
            if (part.name == "messages") return part.tokens;
        return std::uint64_t{0};
    };
    ASSERT_TRUE(memory.append(alice, {.messages = user(text)}));
    EXPECT_EQ(messages(), cl100k);
    ASSERT_TRUE(memory.append(alice, {.messages = user(text)}));
    EXPECT_EQ(messages(), 2 * cl100k);
    ASSERT_TRUE(memory.retract(alice, {Seq{1}, Seq{1}}));
    EXPECT_EQ(messages(), cl100k);
    ASSERT_TRUE(memory.append(alice, {.messages = user(text)}));
    EXPECT_EQ(messages(), 2 * cl100k);
}
