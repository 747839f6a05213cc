// What was left out can be fetched; what stands in a view can be counted, compared and told.
#include <gtest/gtest.h>

#include "base/json.h"
#include "engine/explain.h"
#include "engine/recall.h"
#include "palimpsest/memory.h"
#include "support/engine.h"

using namespace palimpsest;
using namespace palimpsest::testing_support;

namespace {

// user, call, result, answer: four entries.
Memory looked_up() {
    return memory_with(
        {user("look it up"), call("c1"), result("c1", "forty-two"), assistant("it is forty-two")});
}

std::vector<Seq> seqs(const Result<std::vector<Recalled>>& found) {
    std::vector<Seq> out;
    if (found)
        for (const Recalled& one : *found) out.push_back(one.seq);
    return out;
}

}  // namespace

TEST(recall, gives_what_was_cleared_folded_or_dropped_as_it_was_said) {
    Memory memory = looked_up();
    ASSERT_TRUE(memory
                    .splice(alice, *memory.view(alice), {clear(3, result("c1", "[removed]"))},
                            Cause::policy)
                    .has_value());
    auto found = memory.recall(alice, {.call_id = "c1"});
    ASSERT_EQ(seqs(found), (std::vector<Seq>{Seq{2}, Seq{3}}));
    EXPECT_EQ(view_of(found->at(1).message.raw), result("c1", "forty-two"));
    EXPECT_EQ(found->at(1).shown, "cleared");
    ASSERT_TRUE(memory.splice(alice, *memory.view(alice), {fold(1, 4, "a lookup")}, Cause::policy)
                    .has_value());
    found = memory.recall(alice, {.range = {Seq{1}, Seq{4}}});
    ASSERT_EQ(seqs(found).size(), 4u);
    EXPECT_EQ(found->at(0).shown, "folded");
    EXPECT_EQ(memory.recall(alice, {.call_id = "c9"}).error().code, ErrorCode::not_found);
    EXPECT_EQ(memory.recall(alice, {}).error().code, ErrorCode::invalid_request);
}

TEST(recall, does_not_reach_behind_what_a_person_hid_or_removed) {
    Memory memory = looked_up();
    ASSERT_TRUE(memory.retract(alice, {Seq{2}, Seq{3}}).has_value());
    EXPECT_EQ(memory.recall(alice, {.call_id = "c1"}).error().code, ErrorCode::not_found);
    ASSERT_TRUE(memory.undo(alice).has_value());
    EXPECT_EQ(seqs(memory.recall(alice, {.call_id = "c1"})).size(), 2u);
    ASSERT_TRUE(memory.scrub(alice, {Seq{3}}).has_value());
    EXPECT_EQ(seqs(memory.recall(alice, {.call_id = "c1"})), std::vector<Seq>{Seq{2}});
    ASSERT_TRUE(memory.rewind(alice, Seq{1}).has_value());
    EXPECT_EQ(memory.recall(alice, {.call_id = "c1"}).error().code, ErrorCode::not_found);
}

TEST(recall, takes_a_number_for_the_id_of_a_call_where_there_is_one_and_else_for_a_seq) {
    Memory memory = memory_with({user("look it up"), call("1"), result("1", "forty-two"),
                                 assistant("it is forty-two"), user("thanks")});
    const auto found = [&](const char* what) {
        const auto query = recall_query(what);
        return query ? seqs(memory.recall(alice, *query)) : std::vector<Seq>{};
    };
    EXPECT_EQ(found("1"), (std::vector<Seq>{Seq{2}, Seq{3}}));
    EXPECT_EQ(found("1..1"), std::vector<Seq>{Seq{1}}) << "a range is one of seqs";
    EXPECT_EQ(found("4"), std::vector<Seq>{Seq{4}});
    EXPECT_EQ(found("4..5"), (std::vector<Seq>{Seq{4}, Seq{5}}));
    EXPECT_EQ(recall_query("5..4").error().param, "call_id");
    EXPECT_TRUE(memory.recall(alice, *recall_query("7")).error().message.contains("seq 7"));
    ASSERT_TRUE(memory.retract(alice, {Seq{2}, Seq{3}}).has_value());
    EXPECT_EQ(found("1"), std::vector<Seq>{}) << "it is the hidden call, not the message at seq 1";
}

TEST(recall, finds_a_call_far_back_and_the_newest_use_of_its_id) {
    Memory memory = looked_up();
    std::string many = "[" + user("x");
    for (int i = 0; i < 2500; ++i) many += "," + assistant("y");
    many += "]";
    ASSERT_TRUE(memory.append(alice, {.messages = many}).has_value());
    EXPECT_EQ(seqs(memory.recall(alice, {.call_id = "c1"})), (std::vector<Seq>{Seq{2}, Seq{3}}));
    const std::string again = "[" + call("c1") + "," + result("c1", "anew") + "]";
    ASSERT_TRUE(memory.append(alice, {.messages = again}).has_value());
    EXPECT_EQ(seqs(memory.recall(alice, {.call_id = "c1"})),
              (std::vector<Seq>{Seq{2506}, Seq{2507}}));
}

// The placeholder names an id that no shape has: the provider ran the tool.
TEST(recall, finds_what_was_cleared_of_a_hosted_tool_by_the_id_that_its_placeholder_names) {
    const std::string words = []() {
        std::string out = "FORTY-TWO";
        for (int n = 0; n < 200; ++n) out += " and so on";
        return out;
    }();
    const auto block = [](const std::string& type, const std::string& rest) {
        return R"({"type":")" + type + "\"," + rest + "}";
    };
    struct Case {
        FormatId format;
        std::string id, item;
    };
    const std::string end =
        R"(,{"role":"user","content":"next"},{"role":"assistant","content":"ok"},)"
        R"({"role":"user","content":"last"}])";
    for (const Case& one : std::vector<Case>{
             {FormatId::openai_responses, "ci_1",
              block("code_interpreter_call",
                    R"("id":"ci_1","status":"completed","code":"1","container_id":"c","outputs":)"
                    R"([{"type":"logs","logs":")" +
                        words + "\"}]")},
             {FormatId::openai_responses, "mc_1",
              block("mcp_call", R"("id":"mc_1","server_label":"s","name":"n","arguments":"{}",)"
                                R"("output":")" +
                                    words + "\"")},
             {FormatId::anthropic, "mcptoolu_1",
              R"({"role":"assistant","content":[)" +
                  block("mcp_tool_use",
                        R"("id":"mcptoolu_1","name":"n","server_name":"s","input":{})") +
                  "," +
                  block("mcp_tool_result", R"("tool_use_id":"mcptoolu_1","is_error":false,)"
                                           R"("content":[{"type":"text","text":")" +
                                               words + "\"}]") +
                  "]}"}}) {
        Memory memory = open_memory();
        const std::string list = R"([{"role":"user","content":"compute"},)" + one.item + end;
        ASSERT_TRUE(memory.append(alice, {.messages = list, .format = one.format})) << list;
        const auto done = memory.compact(
            alice, {.policy = R"({"triggers":{"tokens":1},"target":0,)"
                              R"("passes":[{"pass":"clear_tool_results","keep_turns":1}]})"});
        ASSERT_TRUE(done) << done.error().message;
        const auto shown = memory.view(alice);
        ASSERT_TRUE(view_of(shown->items[1].message.raw).contains("(call_id=" + one.id + ")"))
            << view_of(shown->items[1].message.raw);
        const auto found = memory.recall(alice, {.call_id = one.id});
        ASSERT_EQ(seqs(found), std::vector<Seq>{Seq{2}}) << one.id;
        EXPECT_EQ(found->front().shown, "cleared");
        EXPECT_TRUE(
            memory.answer_recall(alice, R"({"call_id":")" + one.id + "\"}").contains("FORTY-TWO"));
        EXPECT_EQ(memory.recall(alice, {.call_id = one.id + "0"}).error().code,
                  ErrorCode::not_found);
    }
}

TEST(recall, is_offered_as_a_tool_and_answers_in_words) {
    Memory memory = looked_up();
    for (const FormatId format :
         {FormatId::openai_chat, FormatId::openai_responses, FormatId::anthropic}) {
        const std::string tool = recall_tool(format);
        EXPECT_TRUE(parse_json(tool).has_value()) << tool;
        EXPECT_NE(tool.find("\"name\":\"recall\""), std::string::npos);
    }
    EXPECT_NE(memory.answer_recall(alice, R"({"call_id":"c1"})").find("forty-two"),
              std::string::npos);
    EXPECT_NE(memory.answer_recall(alice, R"({"from":1})").find("look it up"), std::string::npos);
    EXPECT_TRUE(memory.answer_recall(alice, R"({"call_id":"zz"})").starts_with("Error: "));
    for (const std::string_view wrong :
         {"{", "1", "{}", R"({"from":"1"})", R"({"from":0})", R"({"seq":1})", R"({"call_id":7})",
          R"({"call_id":"c1","from":1})"}) {
        const std::string answer = memory.answer_recall(alice, wrong);
        EXPECT_TRUE(answer.starts_with("Error: ")) << answer;
        EXPECT_TRUE(answer.contains(R"(recall takes {"call_id": text} or {"from": number)"))
            << answer;
    }
}

TEST(recall, tells_what_is_not_there_from_what_may_not_be_shown) {
    Memory memory = looked_up();
    EXPECT_EQ(memory.recall(alice, {.range = {Seq{99}, Seq{99}}}).error().message,
              "there is no message at seq 99; the log ends at seq 4 and shows which of them are "
              "messages");
    EXPECT_EQ(memory.recall(alice, {.call_id = "0"}).error().message,
              "there is no call '0'; the log has the ids of calls, and seqs count from 1");
    ASSERT_TRUE(memory.scrub(alice, {Seq{1}}).has_value());
    EXPECT_TRUE(memory.recall(alice, {.range = {Seq{1}, Seq{1}}})
                    .error()
                    .message.ends_with("it was removed, or hidden, which can be undone"));
}

TEST(breakdown, sums_to_the_window_and_tells_how_far_the_triggers_are) {
    Memory memory = looked_up();
    const std::string said = "[" + message("system", "Be brief.") + "," + user("and now?") + "]";
    const std::string tools = R"([{"type":"function","function":{"name":"look"}}])";
    const auto begun = memory.begin(alice, {.messages = said, .model = "gpt-4o", .tools = tools});
    ASSERT_TRUE(begun.has_value());
    ASSERT_TRUE(
        memory.splice(alice, *memory.view(alice), {fold(1, 4, "They looked it up.")}, Cause::policy)
            .has_value());
    const auto out = memory.breakdown(
        alice, {.policy = R"({"triggers":{"hard":{"window_share":0.5},"soft":{"turns":9}},)"
                          R"("passes":[{"pass":"keep_last","turns":1}]})"});
    ASSERT_TRUE(out.has_value()) << out.error().message;
    EXPECT_EQ(out->model, "gpt-4o");
    std::uint64_t sum = 0;
    for (const TokenBreakdown::Part& part : out->parts) {
        sum += part.tokens;
        EXPECT_TRUE(part.tokens > 0) << part.name;
        if (part.name == "free") continue;
        EXPECT_GT(part.dollars, 0) << part.name;
    }
    EXPECT_EQ(sum, out->window);
    ASSERT_EQ(out->triggers.size(), 2u);
    EXPECT_EQ(out->triggers[0].trigger, "window_share");
    EXPECT_EQ(out->triggers[0].at, 0.5);
    EXPECT_FALSE(out->triggers[0].due);
    EXPECT_EQ(out->triggers[1].level, "soft");
    EXPECT_EQ(out->triggers[1].now, 1) << "a summary is no turn";
}

TEST(diff, tells_what_only_one_view_sends_and_how_much_they_begin_with_in_common) {
    Memory memory = talk({"one", "two", "three", "four"});
    ASSERT_TRUE(memory.fork(alice, bob, Seq{2}).has_value());
    ASSERT_TRUE(memory.append(bob, {.messages = user("else")}).has_value());
    const ViewDiff diff = diff_views(*memory.view(alice), *memory.view(bob));
    std::string sides;
    for (const ViewDiff::Row& row : diff.rows) sides += row.side + text_of(row.item.message) + " ";
    EXPECT_EQ(sides, "=one =two -three -four +else ");
    EXPECT_EQ(diff.same_items, 2u);
    const ViewDiff same = diff_views(*memory.view(alice), *memory.view(alice));
    EXPECT_EQ(same.same_items, 4u);
    EXPECT_EQ(same.same_tokens, same.tokens_a);
}

// The heading that it gets in the view counts.
TEST(summaries, of_the_callers_own_do_not_make_the_view_larger) {
    Memory memory = talk({"one", "two", "three words more"});
    const auto before = memory.view(alice)->tokens;
    const auto refused = memory.summarize(alice, {Seq{3}, Seq{3}}, "three");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_request);
    EXPECT_EQ(refused.error().message,
              "the summary has 17 tokens with its heading; what it would stand for has 3");
    EXPECT_EQ(memory.view(alice)->tokens, before);
}

TEST(summaries, of_the_callers_own_replace_whole_groups_and_are_listed) {
    Memory memory = looked_up();
    EXPECT_EQ(memory.summarize(alice, {Seq{1}, Seq{2}}, "half a pair").error().code,
              ErrorCode::invalid_request);
    EXPECT_EQ(memory.summarize(alice, {Seq{1}, Seq{3}}, " ").error().code,
              ErrorCode::invalid_request);
    const auto done = memory.summarize(alice, {Seq{1}, Seq{3}}, "looked it up");
    ASSERT_TRUE(done.has_value()) << done.error().message;
    const std::string dressed = "[summary] of messages 1 to 3, which are not shown:\nlooked it up";
    EXPECT_EQ(texts(*memory.view(alice)), "[" + dressed + "] it is forty-two");
    EXPECT_EQ(done->report.folded, 3u);
    EXPECT_EQ(done->report.messages_before, 4u);
    EXPECT_EQ(done->report.messages_after, 2u);
    EXPECT_EQ(done->report.first_changed, Seq{1});
    EXPECT_EQ(done->report.summarizer, "caller");
    const auto all = memory.summaries(alice);
    ASSERT_EQ(all->size(), 1u);
    EXPECT_EQ(all->front().text, dressed);
    EXPECT_EQ(all->front().model, "caller");
    EXPECT_EQ(all->front().range, (Range{Seq{1}, Seq{3}}));
    EXPECT_EQ(all->front().tokens_before, 20u);
    EXPECT_GT(all->front().tokens, 0u);
}

TEST(explain, what_a_person_hid_is_not_told_by_the_summary_around_it) {
    Memory memory =
        memory_with({user("one"), assistant("two"), user("three"), assistant("four"), user("five"),
                     assistant("six, which is more than one, two, three, four and five, and less "
                               "than all that come behind it"),
                     user("seven"), assistant("eight")});
    ASSERT_TRUE(memory.retract(alice, {Seq{3}, Seq{4}}).has_value());
    ASSERT_TRUE(memory.summarize(alice, {Seq{1}, Seq{6}}, "numbers").has_value());
    const auto left_out = explain_left_out(memory, *memory.view(alice));
    ASSERT_TRUE(left_out.has_value());
    ASSERT_EQ(left_out->size(), 1u);
    EXPECT_EQ(left_out->front().range, (Range{Seq{3}, Seq{4}}));
    EXPECT_EQ(left_out->front().reason, "retracted");
}

TEST(explain, what_went_with_its_summary_is_told_by_who_took_it_back) {
    Memory memory = memory_with({user("one"),
                                 assistant("two, which is more than one, two, three and four, and "
                                           "less than all that come behind it"),
                                 user("three"), assistant("four")});
    ASSERT_TRUE(memory.summarize(alice, {Seq{1}, Seq{2}}, "numbers").has_value());
    ASSERT_TRUE(memory.retract(alice, {Seq{1}, Seq{1}}).has_value());
    const auto left_out = explain_left_out(memory, *memory.view(alice));
    ASSERT_TRUE(left_out.has_value());
    ASSERT_EQ(left_out->size(), 1u);
    EXPECT_EQ(left_out->front().range, (Range{Seq{1}, Seq{1}}));
    EXPECT_EQ(left_out->front().reason, "retracted");
}

// ---- what another conversation tells ------------------------------------------------------------

namespace {

const ConversationId first{"t", "first"}, second{"t", "second"};
constexpr std::string_view remember = R"({"triggers":{"messages":100},"injection":{"on":true},)"
                                      R"("passes":[{"pass":"keep_last","turns":50}]})";

struct Clocked {
    std::shared_ptr<Time> now =
        std::make_shared<Time>(std::chrono::milliseconds(1'800'000'000'000));
    MemoryOptions options() const {
        MemoryOptions out;
        out.store.clock = [now = now] { return *now; };
        return out;
    }
    Memory open() const {
        auto store = open_store("memory:?ttl=0&max=0", options().store);
        return Memory(std::move(*store), options());
    }
};

// A first conversation of ann's with a summary, which is shorter than what was said.
void tell_first(Memory& memory, std::string_view summary) {
    ASSERT_TRUE(memory.create(first, {.owner = "ann"}).has_value());
    ASSERT_TRUE(memory.append(first, {.messages = user(summary)}).has_value());
    std::string list = "[";
    for (int i = 1; i < 6; ++i)
        list +=
            (i > 1 ? "," : "") +
            (i % 2 ? assistant("noted, and I shall keep it in mind for the next time that you ask")
                   : user("I like tea, and it is number " + std::to_string(i)));
    list += "]";
    ASSERT_TRUE(memory.append(first, {.messages = list}).has_value());
    ASSERT_TRUE(memory.summarize(first, {Seq{1}, Seq{4}}, summary).has_value());
}

std::string told(Memory& memory, std::string_view owner) {
    const std::string said = user("hello");
    const auto begun = memory.begin(second, {.messages = said,
                                             .policy = std::string(remember),
                                             .header = {.owner = std::string(owner)}});
    EXPECT_TRUE(begun.has_value()) << begun.error().message;
    std::string out;
    for (const Message& message : begun->preamble) out += text_of(message);
    return out;
}

}  // namespace

TEST(injection, a_new_conversation_is_told_the_owners_newest_summary_and_keeps_to_it) {
    const Clocked clocked;
    Memory memory = clocked.open();
    tell_first(memory, "Ann likes tea.");
    ASSERT_TRUE(memory.create(second, {.owner = "ann"}).has_value());
    const std::string once = told(memory, "ann");
    EXPECT_NE(once.find("Ann likes tea."), std::string::npos) << once;
    // A newer one does not change the prefix of a conversation that is under way.
    ASSERT_TRUE(memory.summarize(first, {Seq{5}, Seq{6}}, "Ann likes coffee.").has_value());
    EXPECT_EQ(told(memory, "ann"), once);
    // The note of the call can tell it again, until it is removed at its source.
    const auto notes = memory.log(second, {.kinds = only(EntryKind::note)});
    EXPECT_NE(memory.past_call(second, notes->back().seq)->preamble.find("Ann likes tea."),
              std::string::npos);
    ASSERT_TRUE(memory.retract(first, {Seq{2}, Seq{2}}).has_value());
    EXPECT_EQ(told(memory, "ann"), "");
    ASSERT_TRUE(memory.undo(first).has_value());
    EXPECT_EQ(told(memory, "ann"), once);
    ASSERT_TRUE(memory.scrub(first, {Seq{1}}).has_value());
    EXPECT_EQ(told(memory, "ann"), "");
    EXPECT_NE(memory.metrics().find(R"(memory_summary_injection_total{result="used"} 1)"),
              std::string::npos);
}

TEST(injection, is_counted_before_the_turn_is_planned) {
    const auto tea = [](int words) {
        std::string text = "Ann likes";
        for (int i = 0; i < words; ++i) text += " tea";
        return text;
    };
    Memory memory = Clocked{}.open();
    tell_first(memory, tea(300));
    ASSERT_TRUE(memory.create(second, {.owner = "ann"}).has_value());
    for (int i = 0; i < 8; ++i) {
        const std::string said = user(tea(60));
        const auto begun =
            memory.begin(second, {.messages = said,
                                  .model = "gpt-4o",
                                  .policy = R"({"mode":"trim","context_window_tokens":600,)"
                                            R"("memory_injection":true})"});
        ASSERT_TRUE(begun) << begun.error().message;
        ASSERT_TRUE(begun->injected);
        EXPECT_LE(begun->tokens_expected, 600u) << i;
        ASSERT_TRUE(memory.finish(
            *begun, {.message = *make_message(FormatId::openai_chat, Role::assistant, "noted")}));
    }
}

TEST(injection, is_left_out_when_stale_too_long_or_of_another_owner) {
    {
        const Clocked clocked;
        Memory memory = clocked.open();
        tell_first(memory, "Ann likes tea.");
        ASSERT_TRUE(memory.create(second, {.owner = "ann"}).has_value());
        *clocked.now += std::chrono::hours(24) * 15;
        EXPECT_EQ(told(memory, "ann"), "");
        EXPECT_NE(memory.metrics().find(R"(result="stale"} 1)"), std::string::npos);
    }
    {
        Memory memory = Clocked{}.open();
        tell_first(memory, std::string(4001, 'x'));
        ASSERT_TRUE(memory.create(second, {.owner = "ann"}).has_value());
        EXPECT_EQ(told(memory, "ann"), "");
        EXPECT_NE(memory.metrics().find(R"(result="too_long"} 1)"), std::string::npos);
    }
    Memory memory = Clocked{}.open();
    tell_first(memory, "Ann likes tea.");
    ASSERT_TRUE(memory.create(second, {.owner = "bob"}).has_value());
    EXPECT_EQ(told(memory, "bob"), "");
}
