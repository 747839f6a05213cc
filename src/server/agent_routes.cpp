// agent_routes: agents (defaults for conversations), and what calls took.
#include <algorithm>

#include "palimpsest/chat.h"
#include "server/paging.h"
#include "server/rest.h"
#include "server/turn_body.h"

namespace palimpsest {
namespace {

void write_text_or_null(JsonWriter& out, std::string_view name, const std::string& text) {
    out.key(name);
    text.empty() ? out.null() : out.string(text);
}

// {"key","model","system_prompt","memory_strategy"}; what is not set is null.
void write_agent(JsonWriter& out, const AgentSpec& agent) {
    out.begin_object().field("key", agent.key);
    write_text_or_null(out, "model", agent.model);
    write_text_or_null(out, "system_prompt", agent.system_prompt);
    out.key("memory_strategy");
    // JSON as it came in; in code and in settings a preset may stand there by its bare name.
    if (agent.policy.starts_with('{') || agent.policy.starts_with('"'))
        out.raw(agent.policy);
    else
        agent.policy.empty() ? out.null() : out.string(agent.policy);
    out.end_object();
}

RouteReply agent_reply(const AgentSpec& agent) {
    RouteReply reply;
    JsonWriter out(reply.body);
    write_agent(out, agent);
    return reply;
}

RouteReply usage_reply(const std::vector<UsageRow>& rows) {
    ListReply list;
    for (const UsageRow& row : rows) {
        JsonWriter& out = list.row(row.day);
        out.begin_object().field("day", row.day).key("calls").number(std::uint64_t{row.calls});
        write_usage(out.key("usage"), row.usage);
        out.key("cost").begin_object().key("dollars").number(row.cost).end_object().end_object();
    }
    return list.end(false);
}

}  // namespace

// By key, also one that is gone meanwhile.
Result<RouteReply> list_agents(Call& call) {
    PAL_TRY(all, call.site.memory.agents(call.site.tenant));
    const auto find = [&](std::string_view key, std::string_view) -> Result<RowPlace> {
        const auto range = std::ranges::equal_range(all, key, {}, &AgentSpec::key);
        return RowPlace{static_cast<std::size_t>(range.begin() - all.begin()),
                        static_cast<std::size_t>(range.end() - all.begin())};
    };
    PAL_TRY(page, find_page(call.query, all.size(), find));
    ListReply list;
    for (const std::size_t i : page.rows) write_agent(list.row(all[i].key), all[i]);
    return list.end(page.has_more);
}

Result<RouteReply> get_agent(Call& call) {
    PAL_TRY(agent, call.site.memory.find_agent(call.site.tenant, call.ids.at(0)));
    return agent_reply(agent);
}

Result<RouteReply> put_agent(Call& call) {
    AgentSpec agent{.key = call.ids.at(0),
                    .model = call.text("model").value_or(""),
                    .system_prompt = call.text("system_prompt").value_or("")};
    const auto strategy = call.field("memory_strategy");
    if (strategy && !strategy->is_null()) agent.policy = strategy->raw();
    PAL_CHECK(call.site.memory.put_agent(call.site.tenant, agent));
    return agent_reply(agent);
}

Result<RouteReply> delete_agent(Call& call) {
    PAL_CHECK(call.site.memory.remove_agent(call.site.tenant, call.ids.at(0)));
    RouteReply reply;
    JsonWriter out(reply.body);
    out.begin_object().field("key", call.ids.at(0)).key("deleted").boolean(true).end_object();
    return reply;
}

Result<RouteReply> get_usage(Call& call) {
    PAL_TRY(rows, usage_by_day(call.site.memory, call.name()));
    return usage_reply(rows);
}

Result<RouteReply> get_tenant_usage(Call& call) {
    PAL_TRY(rows, tenant_usage_by_day(call.site.memory, call.site.tenant));
    return usage_reply(rows);
}

}  // namespace palimpsest
