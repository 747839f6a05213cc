// Compaction through the engine: when it is done, by whose policy, what is told of it, and that
// nothing of it is final.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "base/json.h"
#include "palimpsest/chat.h"
#include "palimpsest/model.h"
#include "support/engine.h"
#include "support/fake_summarizer.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

constexpr std::string_view keep_one =
    R"({"name":"short","triggers":{"messages":4},"passes":[{"pass":"keep_last","turns":1}]})";
constexpr std::string_view clear_all =
    R"({"name":"clear","strategy":"compact","triggers":{"tokens":300},"target":{"tokens":100},)"
    R"("passes":[{"pass":"clear_tool_results","keep_tool_uses":0,"keep_turns":0}]})";

Result<Begun> say(Memory& memory, const ConversationId& name, std::string_view text,
                  std::string_view policy = {}, std::string_view model = {}) {
    const std::string said = user(text);
    return memory.begin(
        name, {.messages = said, .model = std::string(model), .policy = std::string(policy)});
}

Result<Finished> answer(Memory& memory, const Begun& begun, std::string_view text,
                        Usage usage = {}) {
    const auto message = make_message(FormatId::openai_chat, Role::assistant, text);
    return memory.finish(begun, {.message = *message, .usage = usage});
}

// One turn that looks something up.
void look_up(Memory& memory, const ConversationId& name, std::string_view id,
             std::string_view found) {
    const std::string list = "[" + user("look it up") + "," + call(id) + "," + result(id, found) +
                             "," + assistant("found it") + "]";
    ASSERT_TRUE(memory.append(name, {.messages = list}).has_value());
}

std::string words(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "word" + std::to_string(i) + " ";
    return out;
}

// Everything that is sent, byte for byte.
std::string bytes(const View& view) {
    std::string out;
    for (const Item& item : view.items) out += std::string(view_of(item.message.raw)) + "\n";
    return out;
}

}  // namespace

TEST(compaction, in_a_turn_clears_tool_results_and_tells_all_of_it) {
    std::vector<std::string> lines;
    Memory memory(memory_store(),
                  {.log = [&](std::string_view line) { lines.emplace_back(line); }});
    look_up(memory, alice, "c1", words(300));
    const auto begun = say(memory, alice, "and now?", clear_all);
    ASSERT_TRUE(begun.has_value()) << begun.error().message;
    ASSERT_TRUE(begun->compaction.has_value());
    const Compaction& done = *begun->compaction;
    EXPECT_EQ(done.outcome, Compaction::Outcome::done);
    EXPECT_LT(done.tokens_after, done.tokens_before);
    EXPECT_EQ(done.report.strategy, "compact");
    EXPECT_EQ(done.report.policy, "clear");
    EXPECT_EQ(done.report.trigger, "tokens");
    EXPECT_EQ(done.report.level, "hard");
    EXPECT_EQ(done.report.cleared_outputs, 1u);
    EXPECT_EQ(done.report.call_ids, std::vector<std::string>{"c1"});
    EXPECT_EQ(done.report.tool_names, std::vector<std::string>{"look"});
    EXPECT_EQ(done.report.messages_before, 5u);
    EXPECT_EQ(done.report.messages_after, 5u);
    EXPECT_EQ(done.report.turns_after, 2u);
    EXPECT_EQ(done.report.first_changed, Seq{3});
    EXPECT_NE(texts(begun->view).find("(call_id=c1); reason=context_compaction"),
              std::string::npos);
    // The same stands in the log, in the metrics, and in one line of the log.
    const auto again = memory.find_compaction(alice, done.seq);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->report.call_ids, done.report.call_ids);
    EXPECT_EQ(again->report.first_byte, done.report.first_byte);
    EXPECT_EQ(again->tokens_after, done.tokens_after);
    const std::string metrics = memory.metrics();
    EXPECT_NE(metrics.find(R"(memory_trigger_total{strategy="compact",trigger="tokens"} 1)"),
              std::string::npos)
        << metrics;
    EXPECT_NE(metrics.find(R"(memory_compaction_items_total{kind="output"} 1)"), std::string::npos);
    EXPECT_NE(metrics.find(R"(when="before")"), std::string::npos);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_TRUE(parse_json(lines[0]).has_value()) << lines[0];
    EXPECT_NE(lines[0].find("\"compacted_call_ids\":[\"c1\"]"), std::string::npos) << lines[0];
}

// In blocks one message holds several results: an error that stays, and one of another tool.
TEST(compaction, tells_only_of_calls_that_it_cleared) {
    const auto use = [](const std::string& id, const std::string& tool) {
        return R"({"type":"tool_use","id":")" + id + R"(","name":")" + tool +
               R"(","input":{"q":")" + words(40) + "\"}}";
    };
    const auto result_of = [](const std::string& id, const std::string& more) {
        return R"({"type":"tool_result","tool_use_id":")" + id + R"(","content":")" + words(200) +
               "\"" + more + "}";
    };
    Memory memory = open_memory();
    const std::string list =
        R"([{"role":"user","content":"look"},{"role":"assistant","content":[)" + use("c1", "get") +
        "," + use("c2", "other") + "," + use("c3", "get") + R"(]},{"role":"user","content":[)" +
        result_of("c1", "") + "," + result_of("c2", "") + "," +
        result_of("c3", R"(,"is_error":true)") +
        R"(]},{"role":"assistant","content":"ok"},{"role":"user","content":"next"}])";
    ASSERT_TRUE(memory.append(alice, {.messages = list, .format = FormatId::anthropic}));
    const std::string cleared = R"({"triggers":{"tokens":1},"target":0,"passes":[)"
                                R"({"pass":"clear_tool_results","keep_turns":1,)"
                                R"("include_tools":["get"]}]})";
    const auto first = memory.compact(alice, {.policy = cleared});
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_EQ(first->report.call_ids, std::vector<std::string>{"c1"});
    EXPECT_EQ(first->report.tool_names, std::vector<std::string>{"get"});
    EXPECT_EQ(first->report.cleared_outputs, 1u);
    EXPECT_TRUE(memory.metrics().contains(R"(memory_compaction_items_total{kind="output"} 1)"));
    const auto second =
        memory.compact(alice, {.policy = R"({"triggers":{"tokens":1},"target":0,"passes":[)"
                                         R"({"pass":"clear_tool_inputs","keep_turns":1,)"
                                         R"("exclude_tools":["get"]}]})"});
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(second->report.call_ids, std::vector<std::string>{"c2"});
    EXPECT_EQ(second->report.tool_names, std::vector<std::string>{"other"});
    EXPECT_EQ(second->report.cleared_inputs, 1u);
    EXPECT_EQ(second->report.cleared_outputs, 0u);
}

TEST(compaction, a_preview_shows_the_very_bytes_that_are_sent_afterwards) {
    Memory memory = open_memory();
    look_up(memory, alice, "c1", words(300));
    look_up(memory, alice, "c2", words(20));
    const std::string before = bytes(*memory.view(alice));
    const auto shown = memory.view(alice, {.window = 4000, .policy = std::string(clear_all)});
    ASSERT_TRUE(shown.has_value()) << shown.error().message;
    EXPECT_TRUE(shown->preview);
    EXPECT_EQ(bytes(*memory.view(alice)), before);
    const auto preview = memory.compact(alice, {.policy = clear_all, .preview = true});
    const auto done = memory.compact(alice, {.policy = clear_all});
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(preview->tokens_after, done->tokens_after);
    EXPECT_EQ(bytes(*memory.view(alice)), bytes(*shown));
    // Twice is once, and undone is as before.
    EXPECT_NE(memory.compact(alice, {.policy = clear_all})->outcome, Compaction::Outcome::done);
    EXPECT_EQ(bytes(*memory.view(alice)), bytes(*shown));
    ASSERT_TRUE(memory.undo(alice).has_value());
    EXPECT_EQ(bytes(*memory.view(alice)), before);
}

TEST(compaction, the_first_level_that_has_a_policy_is_used) {
    const std::string none = R"({"passes":[]})";
    const auto compacted = [&](std::string server, std::string conversation, std::string agent,
                               std::string request) {
        Memory memory(memory_store(), {.policy = std::move(server)});
        for (const char* text : {"one", "two", "three", "four"})
            EXPECT_TRUE(memory.append(alice, {.messages = user(text)}).has_value());
        if (!conversation.empty()) {
            EXPECT_TRUE(memory.patch(alice, {.policy = conversation}).has_value());
        }
        const std::string said = user("five");
        const auto begun =
            memory.begin(alice, {.messages = said, .policy = request, .agent_policy = agent});
        EXPECT_TRUE(begun.has_value());
        return begun->compaction.has_value();
    };
    const std::string keep(keep_one);
    EXPECT_FALSE(compacted("", "", "", ""));
    EXPECT_TRUE(compacted(keep, "", "", ""));
    EXPECT_FALSE(compacted(keep, "", none, ""));
    EXPECT_TRUE(compacted(none, "", keep, ""));
    EXPECT_FALSE(compacted(keep, none, keep, ""));
    EXPECT_TRUE(compacted(none, none, none, keep));
}

TEST(compaction, what_cannot_fit_is_stored_and_refused_with_the_numbers) {
    MemoryOptions options;
    options.models = {{.name = "tiny", .window_tokens = 200}};
    Memory memory(memory_store(), std::move(options));
    ASSERT_TRUE(memory.append(alice, {.messages = user(words(200))}).has_value());
    ASSERT_TRUE(memory.pin(alice, Seq{1}).has_value());
    const auto begun = say(memory, alice, "and now?", keep_one, "tiny");
    ASSERT_FALSE(begun.has_value());
    EXPECT_EQ(begun.error().code, ErrorCode::budget_unreachable);
    EXPECT_NE(begun.error().message.find("200"), std::string::npos) << begun.error().message;
    EXPECT_EQ(memory.head(alice)->messages, 2u);
    const auto told = memory.compact(alice, {.policy = keep_one, .model = "tiny"});
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->outcome, Compaction::Outcome::unreachable);
    EXPECT_GT(told->report.floor, told->report.limit);
}

TEST(compaction, that_frees_nothing_says_so_and_rests) {
    Memory memory = open_memory();
    ASSERT_TRUE(memory.append(alice, {.messages = user(words(100))}).has_value());
    ASSERT_TRUE(memory.pin(alice, Seq{1}).has_value());
    const std::string policy =
        R"({"triggers":{"tokens":10},"passes":[{"pass":"keep_last","turns":1}]})";
    int tries = 0;
    for (int i = 0; i < 6; ++i) {
        const auto begun = say(memory, alice, "hm", policy);
        ASSERT_TRUE(begun.has_value());
        ASSERT_TRUE(answer(memory, *begun, "yes").has_value());
        tries += begun->warnings.empty() ? 0 : 1;
    }
    EXPECT_LE(tries, 3);
}

// ---- the two levels -----------------------------------------------------------------------------

namespace {

constexpr std::string_view soft_fold =
    R"({"name":"soft","triggers":{"soft":{"messages":4},"hard":{"messages":400}},)"
    R"("target":{"tokens":1},"passes":[{"pass":"summarize","keep_turns":1}]})";

void talk_about_numbers(Memory& memory, const ConversationId& name) {
    for (int i = 0; i < 3; ++i) {
        const std::string list = "[" + user("tell me about number " + words(30)) + "," +
                                 assistant("number is " + words(30)) + "]";
        ASSERT_TRUE(memory.append(name, {.messages = list}).has_value());
    }
}

bool shows_summary(const View& view) {
    return std::ranges::any_of(view.items,
                               [](const Item& item) { return item.kind == ItemKind::summary; });
}

}  // namespace

TEST(soft_level, without_a_worker_the_next_begin_does_it) {
    Memory memory = open_memory();
    talk_about_numbers(memory, alice);
    const auto begun = say(memory, alice, "go on", soft_fold);
    ASSERT_TRUE(begun.has_value()) << begun.error().message;
    ASSERT_TRUE(begun->compaction.has_value());
    EXPECT_EQ(begun->compaction->report.level, "soft");
    EXPECT_EQ(begun->compaction->report.summarizer, "extractive");
    EXPECT_TRUE(shows_summary(begun->view));
    const auto summaries = memory.summaries(alice);
    ASSERT_EQ(summaries->size(), 1u);
    EXPECT_EQ(summaries->front().range.from, Seq{1});
    EXPECT_TRUE(summaries->front().in_force);
    ASSERT_TRUE(memory.undo(alice).has_value());
    EXPECT_FALSE(memory.summaries(alice)->front().in_force);
}

TEST(soft_level, with_a_worker_it_is_a_job_that_one_of_many_does_while_turns_go_on) {
    const auto store = memory_store();
    const auto summarizer = std::make_shared<FakeSummarizer>();
    const auto open = [&] {
        struct Shared : Store {
            Store& inner;
            explicit Shared(Store& s) : inner(s) {}
            Result<Header> head(const ConversationId& n) override { return inner.head(n); }
            Result<Header> head(const LogId& l) override { return inner.head(l); }
            Result<Appended> append(const ConversationId& n, const Batch& b) override {
                return inner.append(n, b);
            }
            Result<std::vector<Entry>> read(const LogId& l, const ReadQuery& q) override {
                return inner.read(l, q);
            }
            Result<Page> list(const ListQuery& q) override { return inner.list(q); }
            Result<void> scrub(std::span<const Replacement> r) override { return inner.scrub(r); }
            Result<Receipt> erase(const ConversationId& n) override { return inner.erase(n); }
            Result<Record> get_record(const RecordKey& k) override { return inner.get_record(k); }
            Result<std::uint64_t> put_record(const RecordWrite& w) override {
                return inner.put_record(w);
            }
            Result<std::vector<Record>> list_records(const RecordQuery& q) override {
                return inner.list_records(q);
            }
        };
        return Memory(std::make_unique<Shared>(*store),
                      {.summarizer = summarizer, .background = true});
    };
    Memory server = open(), worker = open();
    talk_about_numbers(server, alice);
    const auto begun = say(server, alice, "go on", soft_fold);
    ASSERT_TRUE(begun.has_value());
    EXPECT_FALSE(begun->compaction.has_value());
    const auto finished = answer(server, *begun, "going on");
    ASSERT_TRUE(finished.has_value());
    EXPECT_TRUE(finished->summary_due);
    // While the summary is written somebody speaks, and another worker finds nothing to claim.
    summarizer->meanwhile = [&] {
        EXPECT_EQ(server.run_jobs("t").value(), 0u);
        EXPECT_TRUE(server.append(alice, {.messages = user("meanwhile")}).has_value());
    };
    EXPECT_EQ(worker.run_jobs("t").value(), 1u);
    EXPECT_EQ(summarizer->calls, 1);
    const auto view = server.view(alice);
    EXPECT_TRUE(shows_summary(*view));
    EXPECT_NE(texts(*view).find("one and three"), std::string::npos) << texts(*view);
    EXPECT_EQ(text_of(view->items.back().message), "meanwhile");
    const auto summaries = server.summaries(alice);
    ASSERT_EQ(summaries->size(), 1u);
    EXPECT_EQ(summaries->front().model, "gpt-4o-mini");
    EXPECT_GT(summaries->front().cost, 0);
    EXPECT_EQ(worker.run_jobs("t").value(), 0u);
}

TEST(soft_level, a_job_that_is_stopped_stays_due) {
    const auto summarizer = std::make_shared<FakeSummarizer>();
    Memory memory(memory_store(), {.summarizer = summarizer, .background = true});
    talk_about_numbers(memory, alice);
    const auto begun = say(memory, alice, "go on", soft_fold);
    ASSERT_TRUE(begun.has_value());
    std::stop_source source;
    std::promise<void> let_go;
    summarizer->meanwhile = [&source, done = let_go.get_future().share(),
                             first = std::make_shared<std::atomic<bool>>(true)] {
        if (!first->exchange(false)) return;
        source.request_stop();
        done.wait();
    };
    // The summariser does not heed the stop; it is left behind.
    EXPECT_EQ(memory.run_jobs("t", 16, source.get_token()).value(), 0u);
    EXPECT_FALSE(shows_summary(*memory.view(alice)));
    let_go.set_value();
    EXPECT_EQ(memory.run_jobs("t").value(), 1u) << "its lease was given back";
    EXPECT_TRUE(shows_summary(*memory.view(alice)));
}

TEST(hard_level, one_fold_is_one_call_of_the_summariser) {
    for (const std::string_view target : {"1", "100", "200"}) {
        const auto summarizer = std::make_shared<FakeSummarizer>();
        Memory memory(memory_store(), {.summarizer = summarizer});
        talk_about_numbers(memory, alice);
        const std::string policy = R"({"triggers":{"hard":{"messages":4}},"target":{"tokens":)" +
                                   std::string(target) +
                                   R"(},"passes":[{"pass":"summarize","max_tokens":40}]})";
        const auto begun = say(memory, alice, "go on", policy);
        ASSERT_TRUE(begun.has_value()) << begun.error().message;
        ASSERT_TRUE(begun->compaction.has_value());
        std::size_t folds = 0;
        for (const Edit& edit : begun->compaction->edits)
            folds += edit.treatment == Treatment::folded ? 1 : 0;
        EXPECT_EQ(summarizer->calls, static_cast<int>(folds)) << target;
        EXPECT_EQ(folds, 1u) << target;
    }
}

TEST(soft_level, an_edit_meanwhile_is_respected) {
    for (const bool inside : {false, true}) {
        const auto summarizer = std::make_shared<FakeSummarizer>();
        Memory memory(memory_store(), {.summarizer = summarizer, .background = true});
        talk_about_numbers(memory, alice);
        const auto begun = say(memory, alice, "go on", soft_fold);
        ASSERT_TRUE(begun.has_value());
        summarizer->meanwhile = [&] {
            ASSERT_TRUE(memory.pin(alice, inside ? Seq{2} : begun->turn).has_value());
        };
        // Outside of its range the text is spliced all the same; inside it is thrown away.
        EXPECT_EQ(memory.run_jobs("t").value(), inside ? 0u : 1u);
        EXPECT_EQ(shows_summary(*memory.view(alice)), !inside);
        EXPECT_EQ(memory.run_jobs("t").value(), 0u);
    }
}

TEST(hard_level, waits_for_the_summariser_no_longer_than_its_deadline) {
    const std::string hard = R"({"triggers":{"messages":4},"target":{"tokens":1},)"
                             R"("passes":[{"pass":"summarize","keep_turns":1}]})";
    struct Case {
        std::string text;
        Duration takes;
        std::string expected;
    };
    const Case cases[] = {
        {"They talked about numbers: one and three.", {}, "gpt-4o-mini"},
        {"late", std::chrono::milliseconds(400), "extractive"},
        {"", {}, "refused"},
    };
    for (const Case& one : cases) {
        const auto summarizer = std::make_shared<FakeSummarizer>();
        summarizer->text = one.text;
        summarizer->takes = one.takes;
        Memory memory(memory_store(), {.summarizer = summarizer,
                                       .summary_deadline = std::chrono::milliseconds(100)});
        talk_about_numbers(memory, alice);
        const auto begun = say(memory, alice, "go on", hard);
        ASSERT_TRUE(begun.has_value()) << begun.error().message;
        ASSERT_TRUE(begun->compaction.has_value()) << one.expected;
        const CompactionReport& report = begun->compaction->report;
        EXPECT_TRUE(shows_summary(begun->view));
        if (one.expected == "refused")
            EXPECT_NE(report.explanation.find("empty"), std::string::npos) << report.explanation;
        else
            EXPECT_EQ(report.summarizer, one.expected) << report.explanation;
    }
}

// ---- overflow -----------------------------------------------------------------------------------

namespace {

class SmallModel : public Model {
public:
    std::size_t least = SIZE_MAX;  // it takes no more messages than that
    std::vector<std::size_t> sent = {};
    std::string_view name() const override { return "small"; }
    FormatId format() const override { return FormatId::openai_chat; }
    Result<Reply> call(const ModelRequest& request, const OnPiece&) override {
        sent.push_back(request.messages.size());
        if (request.messages.size() > least)
            return fail(ErrorCode::unprocessable, "too long", "context_length_exceeded");
        Reply reply;
        PAL_TRY(message, make_message(FormatId::openai_chat, Role::assistant, "ok"));
        reply.messages = {message};
        return reply;
    }
};

}  // namespace

TEST(overflow, compacts_once_and_asks_again_with_less) {
    Memory memory = open_memory();
    talk_about_numbers(memory, alice);
    SmallModel model;
    model.least = 3;
    const std::string policy =
        R"({"triggers":{"messages":400},"passes":[{"pass":"keep_last","turns":1}]})";
    const std::string said = user("go on");
    const auto turn = chat(memory, alice, {.messages = said, .policy = policy}, model);
    ASSERT_TRUE(turn.has_value()) << turn.error().message;
    EXPECT_EQ(model.sent, (std::vector<std::size_t>{7, 1}));
    ASSERT_TRUE(turn->begun.compaction.has_value());
    EXPECT_EQ(turn->begun.compaction->report.trigger, "overflow");
    const auto entry = memory.log(alice, {.kinds = only(EntryKind::compaction)})->at(0);
    EXPECT_EQ(std::get<CompactionEntry>(entry.body).cause, Cause::overflow);
}

TEST(overflow, that_cannot_be_helped_is_an_error_and_asks_no_third_time) {
    Memory memory = open_memory();
    talk_about_numbers(memory, alice);
    SmallModel model;
    model.least = 0;
    const std::string policy =
        R"({"triggers":{"messages":400},"passes":[{"pass":"keep_last","turns":1}]})";
    const std::string said = user("go on");
    EXPECT_FALSE(chat(memory, alice, {.messages = said, .policy = policy}, model).has_value());
    EXPECT_EQ(model.sent.size(), 2u);
    const auto begun = say(memory, alice, "once more", policy);
    const auto smaller = memory.shrink(*begun);
    if (smaller)
        EXPECT_EQ(memory.shrink(*smaller).error().code, ErrorCode::budget_unreachable);
    else
        EXPECT_EQ(smaller.error().code, ErrorCode::budget_unreachable);
}

TEST(overflow, without_a_policy_is_passed_on) {
    Memory memory = open_memory();
    talk_about_numbers(memory, alice);
    SmallModel model;
    model.least = 3;
    const std::string said = user("go on");
    const auto turn = chat(memory, alice, {.messages = said}, model);
    ASSERT_FALSE(turn.has_value());
    EXPECT_TRUE(is_context_overflow(turn.error()));
    EXPECT_EQ(model.sent.size(), 1u);
    EXPECT_EQ(text_of(memory.view(alice)->items.back().message), "go on");
}

TEST(compaction, is_done_at_most_once_for_each_call_whatever_the_length) {
    for (const int turns : {0, 1, 5, 20, 60, 120}) {
        const auto summarizer = std::make_shared<FakeSummarizer>();
        Memory memory(memory_store(), {.summarizer = summarizer});
        for (int i = 0; i < turns; ++i)
            ASSERT_TRUE(memory.append(alice, {.messages = "[" + user("a number " + words(20)) +
                                                          "," + assistant("a number") + "]"}));
        const auto begun = say(memory, alice, "go on",
                               R"({"triggers":{"messages":10},"passes":[)"
                               R"({"pass":"summarize","keep_turns":2,"max_tokens":20}]})");
        ASSERT_TRUE(begun.has_value()) << begun.error().message;
        const std::size_t due = 2 * turns + 1 > 10 ? 1 : 0;
        EXPECT_EQ(memory.log(alice, {.kinds = only(EntryKind::compaction)})->size(), due) << turns;
        EXPECT_EQ(summarizer->calls, static_cast<int>(due)) << turns;
        EXPECT_EQ(memory.summaries(alice)->size(), due) << turns;
    }
}
