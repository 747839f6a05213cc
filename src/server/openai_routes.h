// openai_routes: the functions of /v1/conversations and /v1/responses, by file. What each takes and
// gives stands in its row of routes.cpp and the schemas named there.
#pragma once
#include "server/route.h"

namespace palimpsest {

// openai_conversations.cpp
Result<RouteReply> create_openai_conversation(Call& call);
Result<RouteReply> repeat_openai_create(Call& call, Seq);  // also of a fork
Result<RouteReply> list_openai_conversations(Call& call);
Result<RouteReply> get_openai_conversation(Call& call);
Result<RouteReply> update_openai_conversation(Call& call);
Result<RouteReply> repeat_openai_update(Call& call, Seq);
Result<RouteReply> delete_openai_conversation(Call& call);
Result<RouteReply> fork_openai_conversation(Call& call);
Result<RouteReply> create_openai_items(Call& call);
Result<RouteReply> list_openai_items(Call& call);
Result<RouteReply> get_openai_item(Call& call);
Result<RouteReply> delete_openai_item(Call& call);

// responses.cpp
Result<RouteReply> create_response(Call& call);

// responses_read.cpp
Result<RouteReply> get_response(Call& call);
Result<RouteReply> delete_response(Call& call);
Result<RouteReply> cancel_response(Call& call);
Result<RouteReply> list_input_items(Call& call);

// responses_tokens.cpp
Result<RouteReply> count_input_tokens(Call& call);

// responses_compact.cpp
Result<RouteReply> compact_response(Call& call);

}  // namespace palimpsest
