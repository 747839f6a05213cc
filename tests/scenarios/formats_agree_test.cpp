// One conversation in three formats: every preset and every pass does the same to the same groups.
#include <gtest/gtest.h>

#include <set>

#include "core/pass.h"
#include "core/policy.h"
#include "palimpsest/format.h"
#include "scenarios/scenario.h"

using namespace palimpsest;

namespace {

constexpr const char* formats[] = {"openai_chat", "openai_responses", "anthropic"};

// Questions with a call and a result of about so many words, every fifth call with much to say,
// every sixth a repetition of an earlier one, every ninth a failure, every eighth question with a
// picture.
std::string long_talk(int turns, int words) {
    std::string out;
    for (int i = 1; i <= turns; ++i) {
        const std::string n = std::to_string(i), id = "call" + n;
        out +=
            (i % 8 == 0 ? "image" : "user") + std::string(" What of ORD-") + n + "? {20 words}\n";
        out += "call " + id + " find {\"order\":\"" + (i % 6 == 0 ? "same" : n) + "\"" +
               (i % 5 == 0 ? ",\"why\":\"{60 words}\"" : "") + "}\n";
        out += (i % 9 == 0 ? "error " : "result ") + id + " order " + n + " is row_" + n +
               "4711 {" + std::to_string(words + words * (i * 37 % 40) / 200) + " words}\n";
        out += "answer It is in row_" + n + "4711. {30 words}\n";
    }
    return out + "user And now?\n";
}

// One run of calls without an end, two at a time.
std::string long_run() {
    std::string out = "user Go through all of them. {20 words}\n";
    for (int i = 1; i <= 20; ++i) {
        const std::string n = std::to_string(i);
        for (const std::string half : {"a", "b"})
            out += "call " + half + n + " read {\"file\":\"" + half + n + "\"}\n";
        for (const std::string half : {"a", "b"})
            out += "result " + half + n + " file " + half + n + " {" +
                   std::to_string(150 + i * 17 % 90) + " words}\n";
    }
    return out;
}

// Counts the words that are said and nothing around them, which every format counts in its own way:
// so the borders fall in the same places.
class SaidWords : public MessageTools {
public:
    Result<Content> read(const Message& m) const override { return word_tools().read(m); }
    bool may_hold_results(const Message& m) const override {
        return word_tools().may_hold_results(m);
    }
    bool has_error(const Message& m) const override { return word_tools().has_error(m); }
    bool is_sealed_past(const Message& m) const override { return word_tools().is_sealed_past(m); }
    Result<Message> rewrite(const Message& m, std::span<const PartChange> changes) const override {
        return counted(word_tools().rewrite(m, changes));
    }
    Result<Message> make_text(FormatId format, Role role, std::string_view text) const override {
        return counted(word_tools().make_text(format, role, text));
    }
    std::uint32_t count_text(std::string_view text) const override {
        return word_tools().count_text(text);
    }
    std::uint16_t scheme() const override { return word_tools().scheme(); }

private:
    Result<Message> counted(Result<Message> message) const {
        if (!message || !message->raw) return message;
        PAL_TRY(content, read(*message));
        message->count.tokens = 0;
        for (const ContentPart& part : content.parts)
            message->count.tokens += count_text(part.text);
        return message;
    }
};

// The talk in each format, as if its messages had come in counted so.
std::vector<Scenario> in_every_format(const std::string& talk, std::uint64_t window) {
    std::vector<Scenario> out;
    for (const std::string format : formats) {
        Scenario scenario = read_scenario("format " + format + "\n" + talk);
        EXPECT_EQ(scenario.fault, "");
        for (Item& item : scenario.items) {
            item.message = SaidWords().rewrite(item.message, {}).value();
            item.tokens = item.message.count.tokens;
        }
        scenario.occasion.totals = totals_of(scenario.items);
        scenario.occasion.budget.window = window;
        out.push_back(std::move(scenario));
    }
    return out;
}

char letter_of(Treatment treatment) {
    constexpr char letters[] = {'.', 'h', 'c', 's', 'd'};  // as they are ordered
    return letters[static_cast<std::size_t>(treatment)];
}

// The outcome, and a letter for each group: what was done to any of its messages, or a dot.
std::string fate(const Scenario& scenario, const std::string& policy) {
    const auto parsed = parse_policy(policy);
    if (!parsed) return parsed.error().message;
    PlanInput input;
    input.items = scenario.items;
    input.occasion = scenario.occasion;
    const SaidWords tools;
    input.tools = &tools;
    const Plan plan = make_plan(input, *parsed);
    std::string out = std::string(outcome_name(plan.outcome)) + " ";
    for (const Group& group : find_groups(scenario.items)) {
        Treatment strongest = Treatment::verbatim;
        for (std::size_t i = group.first; i <= group.last; ++i)
            for (const Edit& edit : plan.edits)
                if (edit.range.contains(scenario.items[i].range.from))
                    strongest = std::max(strongest, edit.treatment);
        out += letter_of(strongest);
    }
    return out;
}

// What is done to the first is done to all; returns it.
std::string agreed(const std::vector<Scenario>& talks, const std::string& policy) {
    const std::string first = fate(talks.front(), policy);
    for (const Scenario& talk : talks)
        EXPECT_EQ(fate(talk, policy), first) << format_name(talk.format) << ": " << policy;
    return first;
}

// Parameters to show a pass with, besides none.
struct Shown {
    std::string_view pass, parameters;
};
constexpr Shown shown[] = {
    {"clear_tool_results", R"(,"keep_turns":1,"keep_identifiers":5)"},
    {"clear_tool_results", R"(,"keep_tool_uses":3,"keep_errors":false,"target":0)"},
    {"clear_tool_inputs", R"(,"keep_turns":1,"min_tokens":0,"target":0)"},
    {"clear_media", R"(,"keep":1,"target":0)"},
    {"shorten", R"(,"max_tokens":100)"},
    {"summarize", R"(,"keep_turns":3)"},
    {"summarize", R"(,"mode":"rolling","batch":8)"},
    {"summarize", R"(,"mode":"chunked","chunk_tokens":900)"},
    {"summarize", R"(,"mode":"tools")"},
    {"summarize", R"(,"keep_first_user":true)"},
    {"keep_last", R"(,"messages":9)"},
    {"keep_last", R"(,"turns":5)"},
    {"keep_last", R"(,"tokens":2000)"},
};

std::string with_pass(std::string_view pass, std::string_view parameters = {}) {
    return R"({"triggers":{"tokens":4000},"target":2500,"passes":[{"pass":")" + std::string(pass) +
           "\"" + std::string(parameters) + "}]}";
}

}  // namespace

TEST(formats_agree, on_every_preset) {
    const std::vector<Scenario> talks = in_every_format(long_talk(52, 1800), 110'000);
    for (const Preset& preset : presets()) {
        const std::string found = agreed(talks, std::string(preset.name));
        const bool idle = preset.name == "none" || preset.name == "strict";
        EXPECT_EQ(found.starts_with("done"), !idle) << preset.name << ": " << found;
    }
}

TEST(formats_agree, on_every_pass) {
    const std::vector<Scenario> talks = in_every_format(long_talk(26, 180), 15'000);
    std::set<std::string_view> done;
    const auto show = [&](std::string_view pass, std::string_view parameters) {
        if (agreed(talks, with_pass(pass, parameters)).starts_with("done")) done.insert(pass);
    };
    for (const Shown& one : shown) show(one.pass, one.parameters);
    for (const PassKind& kind : pass_kinds()) {
        if (kind.name != "keep_last") show(kind.name, "");
        const bool idle = kind.name == "clear_reasoning" || kind.name == "fail";
        EXPECT_EQ(done.contains(kind.name), !idle) << kind.name;
    }
}

TEST(formats_agree, on_whose_words_are_protected) {
    const std::vector<Scenario> talks = in_every_format(long_talk(26, 180), 15'000);
    std::set<std::string> found;
    for (const std::string role : {"user", "assistant", "tool"}) {
        const std::string protect = R"(,"protect":{"roles":[")" + role + "\"]}";
        found.insert(agreed(
            talks, R"({"triggers":{"tokens":4000},"target":0,"passes":[{"pass":"drop_oldest"}])" +
                       protect + "}"));
    }
    EXPECT_EQ(found.size(), 3u) << "each protects something else";
}

TEST(formats_agree, inside_one_long_run_of_parallel_calls) {
    const std::vector<Scenario> talks = in_every_format(long_run(), 30'000);
    // Of messages there are fewer where one holds both calls or both results.
    for (const Shown& one : shown)
        if (!one.parameters.contains("messages") && !one.parameters.contains("batch") &&
            one.pass != "shorten")
            agreed(talks, with_pass(one.pass, one.parameters));
    for (const std::string_view pass : {"drop_oldest", "select_relevant", "drop_superseded"})
        agreed(talks, with_pass(pass));
}
