#include "engine/next_request.h"

#include "base/json.h"
#include "core/metadata.h"
#include "palimpsest/format.h"
#include "store/lineage.h"

namespace palimpsest {
namespace {

FormatId format_in(const JsonValue& note) {
    const auto name = note.find("format");
    const auto format = name ? parse_format_name(name->string()) : FormatId::openai_chat;
    return format.value_or(FormatId::openai_chat);
}

Result<Sent> sent_at(Store& store, const Header& header, Seq note) {
    PAL_TRY(entry, read_entry(store, header, note));
    PAL_TRY(past, read_call_note(store, header, entry));
    PAL_TRY(document, parse_json(past.note));
    const auto model = document.root().find("model");
    Sent sent{model ? std::string(model->string()) : "", std::move(past.tools), {}};
    if (auto preamble = read_messages(format_in(document.root()), make_bytes(past.preamble)))
        sent.preamble = std::move(*preamble);
    return sent;
}

Result<Sent> first_sent(Memory::State& state, const Header& header) {
    const std::optional<AgentSpec> agent = remembered_agent(state, header);
    Sent sent;
    if (agent) sent.model = agent->model;
    const std::string& prompt =
        header.system_prompt.empty() && agent ? agent->system_prompt : header.system_prompt;
    if (prompt.empty()) return sent;
    PAL_TRY(message, make_message(FormatId::openai_chat, Role::system, prompt));
    sent.preamble = {std::move(message)};
    return sent;
}

}  // namespace

std::optional<AgentSpec> remembered_agent(Memory::State& state, const Header& header) {
    if (header.metadata.find("\"agent_type\"") == std::string::npos) return std::nullopt;
    const std::string key = labels_of(header.metadata)["agent_type"];
    if (key.empty()) return std::nullopt;
    auto agent = find_agent(state, header.name.tenant, key);
    return agent ? std::optional(*std::move(agent)) : std::nullopt;
}

Result<PolicyInForce> policy_of(Memory::State& state, const Header& header,
                                std::string_view request) {
    PolicyLevels levels{.request = request, .conversation = header.policy};
    const std::optional<AgentSpec> agent = remembered_agent(state, header);
    if (agent) levels.agent = agent->policy;
    return state.policies->choose(levels);
}

Result<Sent> sent_beside(Memory::State& state, const Header& header, const CallState& calls,
                         std::string_view model, std::string_view tools) {
    auto sent =
        calls.last == Seq{} ? first_sent(state, header) : sent_at(*state.store, header, calls.last);
    if (!sent) return sent;
    if (!model.empty()) sent->model = model;
    if (!tools.empty()) sent->tools = tools;
    return sent;
}

}  // namespace palimpsest
