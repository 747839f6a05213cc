// rest: the functions of the routes under /api/v1 and the probes, by file.
// What each takes and gives stands in its row of routes.cpp and the schemas named there.
#pragma once
#include "base/json_write.h"
#include "server/list_reply.h"
#include "server/route.h"

namespace palimpsest {

// probes.cpp
Result<RouteReply> get_health(Call& call);
Result<RouteReply> get_ready(Call& call);
Result<RouteReply> get_openapi(Call& call);
Result<RouteReply> get_landing(Call& call);

// conversations.cpp
Result<RouteReply> create_conversation(Call& call);
Result<RouteReply> repeat_create(Call& call, Seq);  // also of a fork
Result<RouteReply> list_conversations(Call& call);
Result<RouteReply> get_conversation(Call& call);
Result<RouteReply> patch_conversation(Call& call);
Result<RouteReply> delete_conversation(Call& call);

// log_routes.cpp
Result<RouteReply> append_messages(Call& call);
Result<RouteReply> list_messages(Call& call);
Result<RouteReply> list_log(Call& call);
Result<RouteReply> get_view(Call& call);
Result<RouteReply> get_call(Call& call);

// memory_routes.cpp
Result<RouteReply> get_strategy(Call& call);
Result<RouteReply> patch_strategy_of(Call& call);
Result<RouteReply> list_summaries(Call& call);
Result<RouteReply> store_summary(Call& call);
Result<RouteReply> repeat_summary(Call& call, Seq seq);
Result<RouteReply> get_breakdown(Call& call);
Result<RouteReply> get_diff(Call& call);
Result<RouteReply> recall_messages(Call& call);
Result<RouteReply> get_recall_tool(Call& call);
Result<RouteReply> get_metrics(Call& call);

// search_route.cpp
Result<RouteReply> search_messages(Call& call);

// edits.cpp
Result<RouteReply> fork_conversation(Call& call);
Result<RouteReply> create_checkpoint(Call& call);
Result<RouteReply> list_checkpoints(Call& call);
Result<RouteReply> get_checkpoint(Call& call);
Result<RouteReply> pin_message(Call& call);
Result<RouteReply> unpin_message(Call& call);
Result<RouteReply> undo_edit(Call& call);
Result<RouteReply> retract_messages(Call& call);
Result<RouteReply> rewind_conversation(Call& call);
Result<RouteReply> scrub_messages(Call& call);
Result<RouteReply> compact_conversation(Call& call);
Result<RouteReply> repeat_edit(Call& call, Seq seq);
Result<RouteReply> repeat_checkpoint(Call& call, Seq seq);
Result<RouteReply> repeat_scrub(Call& call, Seq);
Result<RouteReply> repeat_compact(Call& call, Seq seq);

// turns.cpp
Result<RouteReply> begin_turn(Call& call);
Result<RouteReply> finish_turn(Call& call);
Result<RouteReply> chat(Call& call);

// agent_routes.cpp
Result<RouteReply> list_agents(Call& call);
Result<RouteReply> get_agent(Call& call);
Result<RouteReply> put_agent(Call& call);
Result<RouteReply> delete_agent(Call& call);
Result<RouteReply> get_usage(Call& call);
Result<RouteReply> get_tenant_usage(Call& call);

// audit_route.cpp
Result<RouteReply> list_audited(Call& call);

// state_routes.cpp
Result<RouteReply> chat_with_state(Call& call);
Result<RouteReply> append_to_state(Call& call);

// What they share; replies.cpp.
//
// The format that the body names; openai_chat when it names none.
Result<FormatId> format_of(const Call& call);
// The conversation that the body names in `field`. One that it does not name gets an id: derived
// from the idempotency key, so that a repeat finds what the first request made; else random.
Result<ConversationId> new_name(const Call& call, std::string_view field = "id");
// metadata.KEY=VALUE of a query.
std::map<std::string, std::string> labels_of(const Query& query);
// What a body says about a conversation's header; null clears a field.
Result<HeaderPatch> header_patch_of(const Call& call);
// What is wrong names what the client sent: a member of "parameters" or of a policy by its whole
// path. A conflict that repeating cannot solve names what caused it, `param` if nothing else.
Error blame(Error error, const Call& call, std::string_view param);
RouteReply header_reply(const Header& header);
// A page of conversations, by the parameters of conversation_query; conversations.cpp.
using WriteHeader = void (*)(JsonWriter& out, const Header& header);
Result<RouteReply> list_headers(Call& call, WriteHeader write);
RouteReply seq_reply(Seq seq);

}  // namespace palimpsest
