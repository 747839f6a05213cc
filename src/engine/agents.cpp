// Agents: defaults for conversations, kept as records of the store (space "agents").
//
// A record is {"model","system_prompt","memory_strategy"}; what is empty is left out.
#include <algorithm>

#include "base/ids.h"
#include "base/json.h"
#include "base/json_write.h"
#include "engine/next_request.h"
#include "engine/state.h"

namespace palimpsest {
namespace {

constexpr std::string_view agents_space = "agents";
constexpr std::size_t page_rows = 1000;

RecordKey record_of(const std::string& tenant, std::string_view key) {
    return {tenant, std::string(agents_space), std::string(key)};
}

std::string write_agent(const AgentSpec& agent) {
    std::string text;
    JsonWriter out(text);
    out.begin_object();
    if (!agent.model.empty()) out.field("model", agent.model);
    if (!agent.system_prompt.empty()) out.field("system_prompt", agent.system_prompt);
    if (!agent.policy.empty()) out.field("memory_strategy", agent.policy);
    out.end_object();
    return text;
}

Result<AgentSpec> read_agent(const Record& record) {
    PAL_TRY(document, parse_json(record.value));
    const auto text = [&](std::string_view field) {
        const auto value = document.root().find(field);
        return value ? std::string(value->string()) : std::string();
    };
    return AgentSpec{record.key.key, text("model"), text("system_prompt"), text("memory_strategy")};
}

const AgentSpec* find_given(const Memory::State& state, std::string_view key) {
    const std::vector<AgentSpec>& agents = *state.agents;
    const auto at = std::ranges::find(agents, key, &AgentSpec::key);
    return at == agents.end() ? nullptr : &*at;
}

}  // namespace

Result<void> Memory::put_agent(const std::string& tenant, const AgentSpec& agent) {
    PAL_CHECK(check_id(tenant, "tenant"));
    PAL_CHECK(check_id(agent.key, "agent"));
    if (!agent.policy.empty()) {
        PAL_CHECK(check_policy_size(agent.policy));
        PAL_TRY(policy, state_->policies->read(agent.policy));
        (void)policy;
    }
    PAL_TRY(version, state_->store->put_record(
                         {.key = record_of(tenant, agent.key), .value = write_agent(agent)}));
    (void)version;
    return {};
}

Result<AgentSpec> find_agent(Memory::State& state, const std::string& tenant,
                             std::string_view key) {
    PAL_CHECK(check_id(key, "agent"));
    const auto record = state.store->get_record(record_of(tenant, key));
    if (record) return read_agent(*record);
    if (record.error().code != ErrorCode::not_found) return std::unexpected(record.error());
    if (const AgentSpec* given = find_given(state, key)) return *given;
    return fail(ErrorCode::not_found, "there is no agent \"" + std::string(key) + "\"", "agent");
}

Result<AgentSpec> Memory::find_agent(const std::string& tenant, std::string_view key) {
    return palimpsest::find_agent(*state_, tenant, key);
}

Result<std::vector<AgentSpec>> Memory::agents(const std::string& tenant) {
    PAL_CHECK(check_id(tenant, "tenant"));
    std::map<std::string, AgentSpec> all;
    for (const AgentSpec& agent : *state_->agents) all[agent.key] = agent;
    for (std::string after;;) {
        PAL_TRY(records, state_->store->list_records({.tenant = tenant,
                                                      .space = std::string(agents_space),
                                                      .after = after,
                                                      .limit = page_rows}));
        for (const Record& record : records) {
            PAL_TRY(agent, read_agent(record));
            all[record.key.key] = std::move(agent);
        }
        if (records.size() < page_rows) break;
        after = records.back().key.key;
    }
    std::vector<AgentSpec> out;
    for (auto& [key, agent] : all) out.push_back(std::move(agent));
    return out;
}

Result<void> Memory::remove_agent(const std::string& tenant, std::string_view key) {
    PAL_CHECK(check_id(key, "agent"));
    const RecordKey record = record_of(tenant, key);
    const auto there = state_->store->get_record(record);
    if (!there && there.error().code != ErrorCode::not_found) return std::unexpected(there.error());
    if (!there)
        return fail(ErrorCode::not_found,
                    find_given(*state_, key) ? "agent \"" + std::string(key) +
                                                   "\" stands in the settings: change it there"
                                             : "there is no agent \"" + std::string(key) + "\"",
                    "agent");
    PAL_TRY(version, state_->store->put_record({.key = record}));
    (void)version;
    return {};
}

}  // namespace palimpsest
