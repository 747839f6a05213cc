#include "core/policy.h"

#include <gtest/gtest.h>

#include "core/breakdown.h"
#include "core/cache_model.h"
#include "core/plan.h"
#include "core/plan_numbers.h"

using namespace palimpsest;

namespace {

Occasion with_tokens(std::uint64_t tokens, std::uint64_t window = 0) {
    Occasion occasion;
    occasion.totals.tokens = tokens;
    occasion.totals.messages = 10;
    occasion.budget.window = window;
    return occasion;
}

// Ten user messages of ten tokens.
std::vector<Item> ten_messages() {
    std::vector<Item> items(10);
    for (std::size_t i = 0; i < items.size(); ++i) {
        items[i].range = {Seq{i + 1}, Seq{i + 1}};
        items[i].tokens = 10;
        items[i].message.shape.text = true;
    }
    return items;
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

TEST(request_policy, refuses_an_unknown_field_beside_the_edits_by_name) {
    struct Case {
        const char* management;
        const char* param;
    };
    for (const auto& [management, param] :
         {Case{R"({"edits":[],"foo":1})", "context_management.foo"},
          Case{R"({"edit":[{"type":"clear_thinking_20251015"}]})", "context_management.edit"},
          Case{R"("auto")", "context_management"}, Case{"[]", "context_management"}}) {
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

TEST(plan, tells_what_an_edit_costs_in_the_cache) {
    const auto policy =
        parse_policy(R"({"triggers":{"messages":3},"passes":[{"pass":"keep_last","messages":2}]})");
    std::vector<Item> items = ten_messages();
    items[0].pinned = true;
    for (Item& item : items) item.message.raw = make_bytes("0123456789");
    PlanInput input;
    input.items = items;
    input.occasion.totals = totals_of(items);
    input.occasion.budget.system = 7;
    const Plan plan = make_plan(input, *policy);
    ASSERT_EQ(plan.costs.size(), 1u);
    EXPECT_EQ(plan.costs[0].first_item, 1u);
    EXPECT_EQ(plan.first_byte, 10u);
    EXPECT_EQ(plan.costs[0].prefix_tokens, 17u);
    EXPECT_EQ(plan.first_changed, Seq{2});
    EXPECT_EQ(plan.tokens_before, 100u);
    EXPECT_EQ(plan.tokens_after, 30u);
    EXPECT_EQ(plan.used_after, 37u);
}

TEST(plan, a_gain_in_money_below_the_minimum_changes_nothing) {
    const std::vector<Item> items = ten_messages();
    PlanInput input;
    input.items = items;
    input.occasion.totals = totals_of(items);
    input.occasion.model = {.name = "m",
                            .input_price = 2.5,
                            .cached_price = 0.25,
                            .cache_write_price = 2.5,
                            .output_price = 10,
                            .cache_least_tokens = 1};
    const auto plan_for = [&](const char* dollars) {
        const auto policy = parse_policy(R"({"triggers":{"messages":3},"min_gain":{"dollars":)" +
                                         std::string(dollars) +
                                         R"(},"passes":[{"pass":"keep_last","messages":2}]})");
        return make_plan(input, *policy);
    };
    // 80 tokens less in each of ten calls, read from the cache, without 20 tokens read anew once.
    EXPECT_EQ(plan_for("0.0001").outcome, PlanOutcome::done);
    const Plan dear = plan_for("0.01");
    EXPECT_EQ(dear.outcome, PlanOutcome::no_progress);
    EXPECT_NE(dear.explanation.find("the minimum is $0.01"), std::string::npos) << dear.explanation;
}

TEST(policy, errors_name_the_place_and_what_there_is) {
    const auto message = [](const char* policy) { return parse_policy(policy).error().message; };
    EXPECT_NE(message(R"({"protect":{"turn":1}})").find("\"protect.turn\""), std::string::npos);
    EXPECT_NE(message("blanced").find("\"balanced\""), std::string::npos);
    EXPECT_NE(message(R"({"passes":[{"pass":"fail","x":1}]})").find("\"when\""), std::string::npos);
    EXPECT_NE(message(R"({"triggers":{"tokens":9}})").find("passes"), std::string::npos);
    EXPECT_NE(message(R"({"min_gain":{"dollars":"a"}})").find("dollars"), std::string::npos);
}

TEST(policy, an_edit_that_does_not_pay_says_in_how_many_calls_it_would) {
    Policy policy;
    policy.pays_within_calls = 5;
    Occasion occasion;
    occasion.model = {
        .input_price = 2, .cached_price = 1, .cache_write_price = 2, .cache_least_tokens = 1};
    // 1500 tokens are read anew, at half a price more; each call saves 100 at half a price.
    Plan plan{.costs = {{0, 1000}}, .used_before = 2600, .used_after = 2500, .limit = 9000};
    EXPECT_FALSE(pays(plan, policy, occasion));
    EXPECT_EQ(plan.explanation, "it would take 15 calls to pay for itself, the policy allows 5");
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

TEST(plan, an_unreachable_budget_is_said_with_its_numbers) {
    const auto policy = parse_policy("trim");
    std::vector<Item> items = ten_messages();
    items[1].pinned = true;
    PlanInput input;
    input.items = items;
    input.occasion.totals = totals_of(items);
    input.occasion.budget = {.window = 40, .reply = 10, .tools = 8, .system = 7, .per_message = 0};
    const Plan plan = make_plan(input, *policy);
    EXPECT_EQ(plan.outcome, PlanOutcome::unreachable);
    EXPECT_EQ(plan.floor, 35u);
    EXPECT_EQ(plan.limit, 30u);
    const Error error = unreachable_error(plan.floor, plan.explanation);
    EXPECT_EQ(error.code, ErrorCode::budget_unreachable);
    EXPECT_NE(error.message.find("35"), std::string::npos);
    EXPECT_NE(error.message.find("30"), std::string::npos);
}

TEST(breakdown, says_where_the_tokens_go_and_how_far_the_trigger_is) {
    const auto policy =
        parse_policy(R"({"triggers":{"hard":{"window_share":0.9},"soft":{"tokens":150}},
        "passes":[{"pass":"drop_oldest"}]})");
    std::vector<Item> items = ten_messages();
    items[1].message.shape.role = Role::assistant;
    items[2].message.shape.role = Role::tool;
    items[3].kind = ItemKind::summary;
    Occasion occasion;
    occasion.totals = totals_of(items);
    occasion.budget = {.window = 200, .reply = 20, .tools = 8, .system = 7, .per_message = 1};
    occasion.model.input_price = 2;
    occasion.model.cached_price = 0.5;
    const Breakdown found = break_down(items, occasion, *policy);
    EXPECT_EQ(found.user, 70u);
    EXPECT_EQ(found.assistant, 10u);
    EXPECT_EQ(found.tool_results, 10u);
    EXPECT_EQ(found.summaries, 10u);
    EXPECT_EQ(found.framing, 10u);
    EXPECT_EQ(found.used, 125u);
    EXPECT_EQ(found.free, 55u);
    EXPECT_EQ(found.trigger, "tokens");
    EXPECT_EQ(found.until_trigger, 25u);
    EXPECT_DOUBLE_EQ(*found.cost, 125 * 2 / 1e6);
    EXPECT_DOUBLE_EQ(*found.cost_cached, 125 * 0.5 / 1e6);
}

TEST(prompt_cache, counts_the_common_prefix_in_steps_and_until_it_expires) {
    PriceList prices = *find_prices("openai");
    PromptCache cache(prices);
    const std::vector<CacheBlock> first = {{1, 1000}, {2, 500}};
    const std::vector<CacheBlock> longer = {{1, 1000}, {2, 500}, {3, 100}};
    const std::vector<CacheBlock> edited = {{1, 1000}, {9, 400}, {3, 100}};
    EXPECT_EQ(cache.call(first).cached, 0u);
    EXPECT_EQ(cache.call(longer).cached, 1408u);  // 1500 in steps of 128
    EXPECT_EQ(cache.call(edited).cached, 0u);     // 1000 is below the least of 1024
    EXPECT_EQ(cache.call(edited, 1000).cached, 0u);
    EXPECT_EQ(cache.call(edited).cached, 1408u);
}

TEST(prompt_cache, writes_nothing_below_the_least_that_it_takes) {
    PromptCache cache(*find_prices("anthropic"));
    const CallCost small = cache.call(std::vector<CacheBlock>{{1, 600}});
    EXPECT_EQ(small.written, 0u);
    EXPECT_DOUBLE_EQ(small.cost, 600);
    const CallCost large = cache.call(std::vector<CacheBlock>{{1, 600}, {2, 1000}});
    EXPECT_EQ(large.cached, 0u);
    EXPECT_EQ(large.written, 1600u);
    EXPECT_DOUBLE_EQ(large.cost, 1600 * 1.25);
}

TEST(prompt_cache, an_edit_below_the_least_that_is_cached_never_pays) {
    const PriceList& prices = *find_prices("anthropic");
    // Each call read 2000 tokens from the cache, and would read 900 without one.
    EXPECT_GT(calls_to_pay(prices, {2000, 900, 500}), 1e9);
    // What stays in front is too short to be found in the cache: 5000 are read anew, not 4500.
    EXPECT_DOUBLE_EQ(calls_to_pay(prices, {6000, 5000, 500}), 5000 * 1.15 / 100);
}

TEST(prompt_cache, tells_when_an_edit_has_paid_for_itself) {
    const PriceList& prices = *find_prices("anthropic");
    // 1000 tokens less each call; 2000 tokens read anew once.
    EXPECT_DOUBLE_EQ(calls_to_pay(prices, {6000, 5000, 3000}), 2000 * 1.15 / 100);
    EXPECT_GT(calls_to_pay(prices, {6000, 6000, 3000}), 1e9);
}
