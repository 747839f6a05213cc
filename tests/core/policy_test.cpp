// Policies as they are given: their forms, their errors, and what is due by them.
#include "core/policy.h"

#include <gtest/gtest.h>

#include "core/plan.h"

using namespace palimpsest;

namespace {

Occasion with_tokens(std::uint64_t tokens, std::uint64_t window = 0) {
    Occasion occasion;
    occasion.totals.tokens = tokens;
    occasion.totals.messages = 10;
    occasion.budget.window = window;
    return occasion;
}

}  // namespace

TEST(strategy, defaults_are_the_seeds) {
    const auto policy = parse_policy(R"({"mode":"compact"})");
    ASSERT_TRUE(policy);
    EXPECT_EQ(policy->window_tokens, 400'000u);
    EXPECT_EQ(policy->strategy, "compact");
    EXPECT_EQ(policy->injection.on, false);
    EXPECT_EQ(policy->injection.max_chars, 4000u);
    EXPECT_EQ(policy->injection.max_age_days, 14u);
    EXPECT_EQ(find_due(*policy, with_tokens(319'999)).level, Level::none);
    EXPECT_EQ(find_due(*policy, with_tokens(320'000)).trigger, "remaining_pct");
}

TEST(strategy, a_token_budget_takes_the_place_of_the_share) {
    const auto policy = parse_policy(R"({"mode":"trim","token_budget":1000})");
    ASSERT_TRUE(policy);
    EXPECT_EQ(find_due(*policy, with_tokens(999)).level, Level::none);
    EXPECT_EQ(find_due(*policy, with_tokens(1000)).trigger, "tokens");
}

TEST(strategy, expands_to_a_general_form_that_means_the_same) {
    for (
        const char* json :
        {R"({"mode":"compact","compact_keep":4,"token_budget":8000,"compact_clear_tool_inputs":true,
             "compact_include_tools":["code_interpreter","file_search"]})",
         R"({"mode":"trim","max_user_turns":3})", R"({"mode":"summarize","summarizer_model":"m"})",
         R"({})", "balanced"}) {
        const auto general = expand_policy(json);
        ASSERT_TRUE(general) << json;
        const auto direct = parse_policy(json), expanded = parse_policy(*general);
        ASSERT_TRUE(direct && expanded) << *general;
        EXPECT_EQ(direct->passes.size(), expanded->passes.size());
        EXPECT_EQ(*expand_policy(*general), *general);
    }
}

TEST(levels, the_first_that_is_present_is_used_whole) {
    EXPECT_EQ(choose_policy({.request = "r", .conversation = "c", .agent = "a", .server = "s"}),
              "r");
    EXPECT_EQ(choose_policy({.request = "", .conversation = "null", .agent = "a", .server = "s"}),
              "a");
    EXPECT_EQ(choose_policy({}), "");
}

TEST(presets, can_all_be_read) {
    for (const Preset& preset : presets()) {
        const auto policy = parse_policy(preset.json);
        ASSERT_TRUE(policy) << preset.name << ": " << policy.error().message;
        EXPECT_EQ(policy->name, preset.name);
        EXPECT_TRUE(parse_policy("\"" + std::string(preset.name) + "\""));
    }
}

TEST(strategy, errors_name_the_field_that_the_caller_wrote) {
    for (const char* name : {"token_soft_budget", "token_soft_remaining_pct", "token_budget",
                             "compact_trigger_turns", "min_gain_tokens"}) {
        const auto refused =
            parse_policy(R"({"mode":"compact",")" + std::string(name) + R"(":"many"})");
        ASSERT_FALSE(refused) << name;
        EXPECT_EQ(refused.error().param, name);
        EXPECT_TRUE(refused.error().message.contains(name)) << refused.error().message;
    }
    // Above the hard one it is never first, which its own rules leave to the caller.
    EXPECT_TRUE(parse_policy(R"({"mode":"compact","token_budget":10,"token_soft_budget":20})"));
}

TEST(request_policy, maps_anthropics_context_management) {
    const auto json = policy_of_request(
        R"({"context_management":{"edits":[{"type":"clear_thinking_20251015"},
        {"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":30000},
        "keep":{"type":"tool_uses","value":5},"clear_at_least":{"type":"input_tokens","value":500},
        "exclude_tools":["web_search"],"clear_tool_inputs":["write"]}]}})",
        FormatId::anthropic);
    ASSERT_TRUE(json) << json.error().message;
    const auto policy = parse_policy(*json);
    ASSERT_TRUE(policy) << *json;
    ASSERT_EQ(policy->passes.size(), 3u);
    EXPECT_EQ(policy->passes[0].name, "clear_reasoning");
    EXPECT_EQ(policy->passes[1].name, "clear_tool_results");
    EXPECT_EQ(policy->passes[2].name, "clear_tool_inputs");
    EXPECT_EQ(policy->min_gain.tokens, 500u) << "results and inputs count together";
    EXPECT_NE(json->find("{\"reasoning_turns\":1}"), std::string::npos)
        << "due when there are more";
    EXPECT_NE(json->find("\"keep_tool_uses\":5"), std::string::npos);
}

TEST(request_policy, keeps_the_providers_defaults_and_limits) {
    const auto json = policy_of_request(
        R"({"context_management":{"edits":[{"type":"clear_tool_uses_20250919"},{"type":"compact_20260112"}]}})",
        FormatId::anthropic);
    ASSERT_TRUE(json);
    EXPECT_NE(json->find("{\"tokens\":100000}"), std::string::npos);
    EXPECT_NE(json->find(R"({"tokens":150000,"window_share":0.9,"window":true,"overflow":true})"),
              std::string::npos)
        << "a smaller window folds too";
    EXPECT_FALSE(policy_of_request(
        R"({"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":49999}}]}})",
        FormatId::anthropic));
    EXPECT_FALSE(policy_of_request(R"({"context_management":{"edits":[{"type":"shrink"}]}})",
                                   FormatId::anthropic));
    EXPECT_EQ(*policy_of_request(R"({"messages":[]})", FormatId::anthropic), "");
}

TEST(request_policy, refuses_what_it_would_not_do) {
    for (const char* edit :
         {R"({"type":"clear_tool_uses_20250919","keep":{"type":"turns","value":1}})",
          R"({"type":"clear_tool_uses_20250919","clear_at_least":{"type":"bytes","value":1}})",
          R"({"type":"clear_thinking_20251015","keep":{"type":"tool_uses","value":1}})",
          R"({"type":"compact_20260112","pause_after_compaction":true})"})
        EXPECT_FALSE(policy_of_request(
            R"({"context_management":{"edits":[)" + std::string(edit) + "]}}", FormatId::anthropic))
            << edit;
    for (const char* entry :
         {R"({"type":"compaction","compact_threshold":"x"})", R"({"type":"compaction","at":5000})"})
        EXPECT_FALSE(policy_of_request(R"({"context_management":[)" + std::string(entry) + "]}",
                                       FormatId::openai_responses))
            << entry;
}

TEST(request_policy, keeps_all_thinking_however_that_is_said) {
    for (const char* keep : {R"("all")", R"({"type":"all"})"})
        EXPECT_EQ(
            policy_of_request(
                R"({"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":)" +
                    std::string(keep) + "}]}}",
                FormatId::anthropic)
                .value_or("refused"),
            "")
            << keep;
}

TEST(request_policy, refuses_what_it_does_not_know_by_its_whole_name) {
    struct Case {
        const char* management;
        const char* param;
    };
    for (const auto& [management, param] :
         {Case{R"({"edits":[],"foo":1})", "context_management.foo"},
          Case{R"({"edit":[{"type":"clear_thinking_20251015"}]})", "context_management.edit"},
          Case{R"("auto")", "context_management"}, Case{"[]", "context_management"},
          Case{R"({"edits":7})", "context_management.edits"},
          Case{R"({"edits":[{"type":"shrink"}]})", "context_management.edits[0].type"},
          Case{R"({"edits":[{"type":"compact_20260112"},{"type":"clear_thinking_20251015"}]})",
               "context_management.edits[1]"},
          Case{R"({"edits":[{"type":"clear_tool_uses_20250919","trigger":7}]})",
               "context_management.edits[0].trigger"}}) {
        const auto refused = policy_of_request(
            R"({"context_management":)" + std::string(management) + "}", FormatId::anthropic);
        ASSERT_FALSE(refused) << management;
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_request) << management;
        EXPECT_EQ(refused.error().param, param) << refused.error().message;
    }
    for (const char* nothing : {"null", "{}", R"({"edits":[]})", R"({"edits":null})"})
        EXPECT_EQ(policy_of_request(R"({"context_management":)" + std::string(nothing) + "}",
                                    FormatId::anthropic)
                      .value_or("refused"),
                  "")
            << nothing;
}

TEST(request_policy, maps_openais_fields) {
    const auto compaction = policy_of_request(
        R"({"context_management":[{"type":"compaction","compact_threshold":2000}]})",
        FormatId::openai_responses);
    ASSERT_TRUE(compaction);
    EXPECT_EQ(parse_policy(*compaction)->passes[0].name, "summarize");
    EXPECT_FALSE(policy_of_request(
        R"({"context_management":[{"type":"compaction","compact_threshold":999}]})",
        FormatId::openai_responses));
    EXPECT_EQ(
        parse_policy(*policy_of_request(R"({"truncation":"auto"})", FormatId::openai_responses))
            ->passes[0]
            .name,
        "drop_oldest");
    EXPECT_EQ(
        parse_policy(*policy_of_request(R"({"truncation":"disabled"})", FormatId::openai_responses))
            ->passes[0]
            .name,
        "fail");
}

TEST(request_policy, what_truncation_asks_for_beside_a_compaction) {
    const auto policy_with = [](const char* truncation) {
        const auto json =
            policy_of_request(R"({"context_management":[{"type":"compaction"}],"truncation":")" +
                                  std::string(truncation) + "\"}",
                              FormatId::openai_responses);
        return parse_policy(json.value()).value();
    };
    const Policy lets_go = policy_with("auto"), refuses = policy_with("disabled");
    ASSERT_EQ(lets_go.passes.size(), 1u) << "what does not fit goes anyway, and nothing before";
    EXPECT_EQ(lets_go.passes[0].name, "summarize");
    EXPECT_TRUE(lets_go.last_resort.empty());
    ASSERT_EQ(refuses.passes.size(), 1u);
    ASSERT_EQ(refuses.last_resort.size(), 1u);
    EXPECT_EQ(refuses.last_resort[0].name, "fail");
}

TEST(policy, errors_name_the_place_and_what_there_is) {
    const auto message = [](const char* policy) { return parse_policy(policy).error().message; };
    EXPECT_NE(message(R"({"protect":{"turn":1}})").find("\"protect.turn\""), std::string::npos);
    EXPECT_NE(message("blanced").find("\"balanced\""), std::string::npos);
    EXPECT_NE(message(R"({"passes":[{"pass":"fail","x":1}]})").find("\"when\""), std::string::npos);
    EXPECT_NE(message(R"({"triggers":{"tokens":9}})").find("passes"), std::string::npos);
    EXPECT_NE(message(R"({"min_gain":{"dollars":"a"}})").find("dollars"), std::string::npos);
}

TEST(policy, what_would_never_do_anything_is_refused) {
    const auto param = [](const char* policy) {
        const auto parsed = parse_policy(policy);
        return parsed ? std::string("accepted") : parsed.error().param;
    };
    EXPECT_EQ(param(R"({"name":"x"})"), "passes");
    EXPECT_EQ(param(R"({"target":5})"), "passes");
    EXPECT_EQ(param(R"({"summarizer_model":"m"})"), "passes");
    EXPECT_EQ(param(R"({"passes":[]})"), "accepted");  // It says that it does nothing.
    EXPECT_EQ(param(R"({"triggers":{"all":[{}]},"passes":[{"pass":"drop_oldest"}]})"),
              "triggers.all[0]");
    EXPECT_EQ(param(R"({"triggers":{"any":[{"turns":3},{"turns":null}]},)"
                    R"("passes":[{"pass":"drop_oldest"}]})"),
              "triggers.any[1]");
    EXPECT_EQ(param(R"({"recall":{"tokens":500}})"), "accepted");
    EXPECT_EQ(param(R"({"injection":{}})"), "accepted");
    constexpr const char* above[] = {
        R"({"triggers":{"tokens":100},"target":101,"passes":[{"pass":"drop_oldest"}]})",
        R"({"triggers":{"window_share":0.5},"target":{"window_share":0.6},)"
        R"("passes":[{"pass":"drop_oldest"}]})"};
    for (const char* policy : above) EXPECT_EQ(param(policy), "target") << policy;
    EXPECT_EQ(param(R"({"triggers":{"tokens":100},"target":{"window_share":0.6},)"
                    R"("passes":[{"pass":"drop_oldest"}]})"),
              "accepted");  // Of an unknown window: it may be below.
    constexpr const char* waits[] = {
        R"({"triggers":{"all":[{"tokens":100},{"messages":3}]},"target":200,)"
        R"("passes":[{"pass":"drop_oldest"}]})",
        R"({"triggers":{"any":[{"tokens":500},{"all":[{"tokens":100},{"idle_s":60}]}]},)"
        R"("passes":[{"pass":"drop_oldest","target":200}]})"};
    for (const char* policy : waits)
        EXPECT_EQ(param(policy), "accepted") << policy;  // It may have grown by then.
    EXPECT_EQ(param(R"({"passes":[{"pass":"summarize","max_share":1.5}]})"), "passes[0].max_share");
    EXPECT_EQ(param(R"({"passes":[{"pass":"summarize","mode":"rolling","batch":0}]})"),
              "passes[0].batch");
    EXPECT_EQ(param(R"({"passes":[{"pass":"summarize","mode":"chunked","chunk_tokens":0}]})"),
              "passes[0].chunk_tokens");
}

TEST(policy, numbers_that_are_too_large_for_their_place_stay_large) {
    const auto policy =
        parse_policy(R"({"injection":{"max_age_days":99999999999,"max_chars":4294967296},)"
                     R"("pays_within_calls":4294967297,"passes":[]})");
    ASSERT_TRUE(policy) << policy.error().message;
    EXPECT_EQ(policy->injection.max_age_days, UINT32_MAX);
    EXPECT_EQ(policy->injection.max_chars, UINT32_MAX);
    EXPECT_EQ(policy->pays_within_calls, UINT32_MAX);
}

TEST(policy, an_error_names_the_whole_path_of_its_field) {
    struct Bad {
        const char *policy, *path;
    };
    constexpr Bad all[] = {
        {R"({"recall":{"tokens":-1}})", "recall.tokens"},
        {R"({"mode":"trim","recall":{"least_share":2}})", "recall.least_share"},
        {R"({"recall":3})", "recall"},
        {R"({"injection":{"days":2}})", "injection.days"},
        {R"({"protect":{"turns":"two"},"passes":[]})", "protect.turns"},
        {R"({"protect":{"roles":["boss"]},"passes":[]})", "protect.roles"},
        {R"({"min_gain":{"euros":3},"passes":[]})", "min_gain.euros"},
        {R"({"min_gain":{"dollars":-3},"passes":[]})", "min_gain.dollars"},
        {R"({"target":{"tokens":"many"},"passes":[]})", "target.tokens"},
        {R"({"target":{"window_share":7},"passes":[]})", "target.window_share"},
        {R"({"triggers":7,"passes":[]})", "triggers"},
        {R"({"triggers":{"hard":7},"passes":[]})", "triggers.hard"},
        {R"({"triggers":{"soft":{"tokens":"x"}},"passes":[]})", "triggers.soft.tokens"},
        {R"({"triggers":{"hard":{},"firm":{}},"passes":[]})", "triggers.firm"},
        {R"({"triggers":{"all":[{"turns":1},{"token":1}]},"passes":[]})", "triggers.all[1].token"},
        {R"({"triggers":{"any":[]},"passes":[]})", "triggers.any"},
        {R"({"passes":[{"pass":"fail"},{"pass":"summarize","from":"noon"}]})", "passes[1].from"},
        {R"({"passes":[{"pass":"summarize","from":7}]})", "passes[0].from"},
        {R"({"passes":[{"pass":"fail","min_gain":{"euros":1}}]})", "passes[0].min_gain.euros"},
        {R"({"passes":[{"pass":"fail","when":{"token":1}}]})", "passes[0].when.token"},
        {R"({"passes":[{"pass":"keep_last"}]})", "passes[0]"},
        {R"({"passes":[7]})", "passes[0].pass"},
        {R"({"passes":[],"last_resort":"fail"})", "last_resort"},
        {R"({"passes":[],"last_resort":[{"pass":"stop"}]})", "last_resort[0].pass"},
        {R"({"keep_last_turns":"two"})", "keep_last_turns"},
    };
    for (const Bad& bad : all) {
        const auto policy = parse_policy(bad.policy);
        ASSERT_FALSE(policy) << bad.policy;
        EXPECT_EQ(policy.error().param, bad.path) << policy.error().message;
    }
    EXPECT_EQ(parse_policy(R"({"recall":{"tokens":-1}})").error().message,
              R"("recall.tokens" must be a whole number, 0 or more; it is -1)");
    EXPECT_EQ(parse_policy(R"({"triggers":{"any":[""]},"passes":[]})").error().message,
              R"(a trigger is an object, as in {"tokens": 32000}; it is "")");
}

std::string list(const char* element, std::size_t count) {
    std::string json = "[";
    for (std::size_t i = 0; i < count; ++i) json += (i == 0 ? "" : ",") + std::string(element);
    return json + "]";
}

TEST(policy, is_refused_where_it_is_given_when_it_has_more_than_a_plan_should_read) {
    const auto param = [](const std::string& policy) {
        const auto checked = check_policy_size(policy);
        return checked ? std::string("accepted") : checked.error().param;
    };
    const auto with = [](const std::string& field, const std::string& value) {
        return "{\"passes\":[{\"pass\":\"fail\"}],\"" + field + "\":" + value + "}";
    };
    const char* const pass = R"({"pass":"fail"})";
    EXPECT_EQ(param("{\"passes\":" + list(pass, 64) + "}"), "accepted");
    EXPECT_EQ(param("{\"passes\":" + list(pass, 65) + "}"), "passes");
    EXPECT_EQ(param(with("last_resort", list(pass, 65))), "last_resort");
    EXPECT_EQ(param(with("triggers", "{\"any\":" + list(R"({"turns":1})", 65) + "}")),
              "triggers.any");
    EXPECT_EQ(param(with("triggers",
                         "{\"soft\":{\"any\":[{\"all\":" + list(R"({"turns":1})", 65) + "}]}}")),
              "triggers.soft.any[0].all");
    EXPECT_EQ(param(with("protect", "{\"tools\":" + list("\"t\"", 1024) + "}")), "accepted");
    EXPECT_EQ(param(with("protect", "{\"tools\":" + list("\"t\"", 1025) + "}")), "protect.tools");
    EXPECT_EQ(param("{\"mode\":\"compact\",\"exclude_tools\":" + list("\"t\"", 1025) + "}"),
              "exclude_tools");
    EXPECT_EQ(param(with("name", "\"" + std::string(65'536, 'x') + "\"")), "policy");
    EXPECT_EQ(check_policy_size("{\"passes\":" + list(pass, 65) + "}").error().message,
              "the list has 65 entries; in a policy it may have 64");
}

TEST(policy, that_stands_above_the_limits_is_read_and_may_be_replaced_by_one_as_large) {
    const auto passes = [](std::size_t count) {
        return R"({"passes":)" + list(R"({"pass":"fail"})", count) + "}";
    };
    const auto named = [](std::size_t bytes) {
        return R"({"passes":[{"pass":"fail"}],"name":")" + std::string(bytes, 'x') + "\"}";
    };
    for (const std::string& policy : {passes(70), named(70'000)}) {
        EXPECT_TRUE(parse_policy(policy));
        EXPECT_TRUE(expand_policy(policy));
        EXPECT_TRUE(patch_strategy(policy, R"({"target":0})"));
    }
    EXPECT_TRUE(check_policy_size(passes(70), passes(70)));
    EXPECT_TRUE(check_policy_size(passes(65), passes(70)));
    EXPECT_FALSE(check_policy_size(passes(71), passes(70)));
    EXPECT_TRUE(check_policy_size(named(70'000), named(70'000)));
    EXPECT_FALSE(check_policy_size(named(70'001), named(70'000)));
    EXPECT_FALSE(check_policy_size(passes(70), named(70'000)));
}

TEST(policy, the_seeds_other_names_mean_the_same) {
    EXPECT_EQ(*expand_policy(R"({"strategy":"compact","clear_tool_inputs":true,)"
                             R"("exclude_tools":["a"]})"),
              *expand_policy(R"({"mode":"compact","compact_clear_tool_inputs":true,)"
                             R"("compact_exclude_tools":["a"]})"));
    EXPECT_EQ(*expand_policy(R"({"memory_strategy":"trim","keep_last_turns":3})"),
              *expand_policy(R"({"mode":"trim","keep_last_user_turns":3})"));
    EXPECT_EQ(parse_policy(R"({"strategy":"trim","mode":"trim"})").error().param, "strategy");
    EXPECT_EQ(parse_policy(R"({"strategy":"tidy"})").error().param, "strategy");
    // In the general form it is a word for reports.
    const auto general =
        parse_policy(R"({"strategy":"mine","triggers":{"turns":9},"passes":[{"pass":"fail"}]})");
    ASSERT_TRUE(general);
    EXPECT_EQ(general->strategy, "mine");
}
