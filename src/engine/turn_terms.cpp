#include "engine/turn_terms.h"

#include "base/hash.h"
#include "base/json_write.h"
#include "core/metadata.h"
#include "engine/next_request.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

Fingerprint digest_of(const BeginRequest& request) {
    Hasher hasher;
    hasher.field("begin");
    for (const std::string_view part :
         {request.messages, format_name(request.format), std::string_view(request.tools),
          std::string_view(request.model), std::string_view(request.parameters),
          std::string_view(request.policy)})
        hasher.field(part);
    if (request.continues != Seq{}) hasher.field(std::to_string(request.continues.value));
    if (request.resend) hasher.field("resend");
    if (!request.agent.empty()) hasher.field(request.agent);
    return hasher.digest();
}

// As it was known lately, which is good enough for what rarely changes; without a log when there
// is no such conversation.
Result<Header> known_header(Memory::State& state, const ConversationId& name) {
    if (const HotViewPtr hot = state.hot->find(name)) return hot->header;
    auto header = state.store->head(name);
    if (header || header.error().code != ErrorCode::not_found) return header;
    return Header{.name = name};
}

// The one that the request names, or that the conversation began with and that is still there.
Result<std::optional<AgentSpec>> agent_of(Memory::State& state, const Header& header,
                                          const BeginRequest& request) {
    if (request.agent.empty()) return remembered_agent(state, header);
    PAL_TRY(agent, find_agent(state, header.name.tenant, request.agent));
    return std::optional(std::move(agent));
}

Result<void> fill(const AgentSpec& agent, const Header& header, const BeginRequest& request,
                  TurnTerms& terms) {
    terms.system_prompt = agent.system_prompt;
    BeginRequest& filled = terms.filled.emplace(request);
    if (filled.model.empty()) filled.model = agent.model;
    if (filled.agent_policy.empty()) filled.agent_policy = agent.policy;
    if (!header.log.empty() || request.agent.empty()) return {};
    PAL_TRY(merged, merge_metadata("{\"agent_type\":" + json_string(agent.key) + "}",
                                   request.header.metadata_merge.value_or("{}")));
    filled.header.metadata_merge = std::move(merged);
    return {};
}

}  // namespace

Result<TurnTerms> find_terms(Memory& memory, Memory::State& state, const ConversationId& name,
                             const BeginRequest& request, const Opening& opening) {
    TurnTerms terms;
    if (!request.write.key.empty()) terms.digest = digest_of(request);
    PAL_TRY(header, known_header(state, name));
    PAL_TRY(agent, agent_of(state, header, request));
    if (agent) PAL_CHECK(fill(*agent, header, request, terms));
    const Turns turns = turns_of(state, header, request);
    PAL_TRY(place, take_turn(memory, state, name, request, opening, turns));
    terms.place = std::move(place);
    if (!terms.place.taken) return terms;
    if (request.write.key.empty()) return turn_taken(name);
    // No log ends there: only what was stored under this key before is found.
    if (!terms.filled) terms.filled = request;
    terms.filled->write.expected_end = seq_max;
    return terms;
}

}  // namespace palimpsest
