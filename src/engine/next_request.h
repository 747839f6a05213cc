// What the next request of a conversation goes by where nobody says otherwise: its agent, its
// policy, and what is sent beside its view. Turns, jobs, previews and breakdowns ask here, so that
// all of them find the same due.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/compactor.h"

namespace palimpsest {

// not_found when there is none of that key.
Result<AgentSpec> find_agent(Memory::State& state, const std::string& tenant, std::string_view key);
// The one that the conversation began with, if it is still there.
std::optional<AgentSpec> remembered_agent(Memory::State& state, const Header& header);

// The first of the levels that has one: the request's, the conversation's, its agent's, the
// server's.
Result<PolicyInForce> policy_of(Memory::State& state, const Header& header,
                                std::string_view request);

struct Sent {
    std::string model = {}, tools = {};
    std::vector<Message> preamble = {};

    Beside beside(std::span<const Item> view) const { return {model, tools, {}, preamble, view}; }
};
// As the newest call had it, but for a model and tools that are named here. Before the first call:
// as the conversation and its agent say.
Result<Sent> sent_beside(Memory::State& state, const Header& header, const CallState& calls,
                         std::string_view model, std::string_view tools = {});

}  // namespace palimpsest
