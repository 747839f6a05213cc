// gateway_routes: the functions of the routes that providers' clients call, by file. What each
// takes and gives stands in its row of routes.cpp and the schemas named there.
#pragma once
#include "server/route.h"

namespace palimpsest {

// openai_chat.cpp
Result<RouteReply> create_completion(Call& call);

// stored_completions.cpp
Result<RouteReply> list_completions(Call& call);
Result<RouteReply> get_completion(Call& call);
Result<RouteReply> update_completion(Call& call);
Result<RouteReply> repeat_completion_update(Call& call, Seq);
Result<RouteReply> delete_completion(Call& call);
Result<RouteReply> list_completion_messages(Call& call);

// anthropic.cpp
Result<RouteReply> create_message(Call& call);
Result<RouteReply> count_message_tokens(Call& call);

// models_route.cpp
Result<RouteReply> list_models(Call& call);
Result<RouteReply> get_model(Call& call);
Result<RouteReply> create_embeddings(Call& call);

}  // namespace palimpsest
