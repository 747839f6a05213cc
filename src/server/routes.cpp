// routes: THE table. A new route is one row here, one function, and the schemas that it names.
// Rows route requests, check their queries and bodies, and make /openapi.json.
#include "server/gateway_routes.h"
#include "server/openai_routes.h"
#include "server/rest.h"
#include "server/store_route.h"

namespace palimpsest {
namespace {

constexpr Parameter limit_row{"limit", R"({"type":"integer","minimum":1,"maximum":1000})",
                              "rows at most; 100 unless given. A page of 32 MiB ends early"};
constexpr Parameter order_row{"order", R"({"type":"string","enum":["asc","desc"]})",
                              "oldest or newest first"};
constexpr Parameter metadata_row{"metadata.*", R"({"type":"string"})",
                                 "metadata.KEY=VALUE: only where that field is VALUE"};

constexpr Parameter conversation_query[] = {
    {"owner", R"({"type":"string"})", "only this owner's"},
    metadata_row,
    {"sort", R"({"type":"string","enum":["created","updated","accessed"]})",
     "by which time; updated unless given"},
    order_row,
    limit_row,
    {"after", R"({"type":"string"})", "go on behind this id, or 'next' of the page before"},
    {"before", R"({"type":"string"})", "the page that ends before this id"},
};
constexpr Parameter entry_query[] = {
    order_row,
    limit_row,
    {"last", R"({"type":"integer","minimum":0,"maximum":1000})", "the newest N, oldest first"},
    {"after", R"({"type":"string"})", "go on behind this seq or message id"},
    {"before", R"({"type":"string"})", "the page that ends before this seq or message id"},
};
constexpr Parameter log_query[] = {
    order_row,
    limit_row,
    {"last", R"({"type":"integer","minimum":0,"maximum":1000})", "the newest N, oldest first"},
    {"after", R"({"type":"string"})", "go on behind this seq or message id"},
    {"before", R"({"type":"string"})", "the page that ends before this seq or message id"},
    {"kind", R"({"type":"string"})", "only entries of this kind"},
};
constexpr Parameter view_query[] = {
    {"at", R"({"type":"integer","minimum":0,"maximum":9007199254740991})",
     "the view as it was after this seq"},
    {"format", R"({"type":"string","enum":["openai_chat","openai_responses","anthropic"]})",
     "the sendable list of messages in this format, instead of items"},
    {"explain", R"({"type":"boolean"})", "what was left out, and why"},
    {"window", R"({"type":"integer","minimum":1,"maximum":9007199254740991})",
     "a preview: what would be sent within so many tokens"},
    {"model", R"({"type":"string"})", "a preview: what that model would be sent"},
    {"policy", R"({"type":"string"})", "of the preview: a preset's name, or JSON"},
};
constexpr Parameter strategy_query[] = {
    {"expand", R"({"type":"boolean"})", "also the general form of the policy"},
};
constexpr Parameter search_query[] = {
    {"q", R"({"type":"string"})", "text to look for; \"words in quotes\" as they stand"},
    {"conversation_id", R"({"type":"string"})", "only in this conversation"},
    {"owner", R"({"type":"string"})", "only in this owner's conversations"},
    {"role", R"({"type":"string","enum":["system","user","assistant","tool","other"]})",
     "only what this role said"},
    {"after", R"({"type":"string"})", "said at this time or later"},
    {"before", R"({"type":"string"})", "said before this time"},
    {"tool", R"({"type":"string"})", "only calls and results of this tool"},
    metadata_row,
    {"in_view", R"({"type":"boolean"})", "only what the model is sent as it was said, or not"},
    {"limit", R"({"type":"integer","minimum":0,"maximum":1000})",
     "results at most, up to 1000; 10 unless given"},
    {"offset", R"({"type":"integer","minimum":0,"maximum":10000})",
     "leave out so many of the best, up to 10000"},
    {"mode", R"({"type":"string","enum":["lexical","vector","hybrid"]})",
     "hybrid where there is an embedder, else lexical, unless given"},
    {"explain", R"({"type":"boolean"})", "what each score is made of"},
};
constexpr Parameter row_after{"after", R"({"type":"string"})", "go on behind the row of this id"};
constexpr Parameter row_before{"before", R"({"type":"string"})",
                               "the page that ends before the row of this id"};
constexpr Parameter row_offset{"offset",
                               R"({"type":"integer","minimum":0,"maximum":9007199254740991})",
                               "leave out so many rows first"};
constexpr Parameter summary_query[] = {order_row, limit_row, row_after, row_before, row_offset};
constexpr Parameter breakdown_query[] = {
    {"model", R"({"type":"string"})", "whose window and prices; the newest call's unless given"},
};
constexpr Parameter diff_query[] = {
    {"at", R"({"type":"integer","minimum":0,"maximum":9007199254740991})",
     "this conversation as it was after this seq"},
    {"with", R"({"type":"string"})", "the other conversation; this one unless given"},
    {"with_at", R"({"type":"integer","minimum":0,"maximum":9007199254740991})",
     "the other one as it was after this seq"},
};
constexpr Parameter usage_query[] = {order_row, limit_row, row_after, row_before, row_offset};
constexpr Parameter recall_query[] = {order_row, limit_row, row_after, row_before};
constexpr Parameter recall_tool_query[] = {
    {"format", R"({"type":"string","enum":["openai_chat","openai_responses","anthropic"]})",
     "of the definition; openai_chat unless given"},
};
constexpr Parameter checkpoint_query[] = {
    order_row,    limit_row,  row_after,
    row_before,   row_offset, {"name", R"({"type":"string"})", "only those of this name"},
    metadata_row,
};
constexpr Parameter unpin_query[] = {
    {"seq", R"({"type":"integer","minimum":1,"maximum":9007199254740991})",
     "the message; the newest unless given here or in the body"},
};
constexpr Parameter agent_query[] = {order_row, limit_row, row_after, row_before, row_offset};
constexpr Parameter ready_query[] = {
    {"upstream", R"({"type":"boolean"})", "not ready unless every model's server answers"},
};
constexpr Parameter audit_query[] = {
    {"order", R"({"type":"string","enum":["asc","desc"]})", "newest first unless asc"},
    limit_row,
    row_after,
    row_before,
    row_offset,
};
constexpr Parameter compact_query[] = {
    {"preview", R"({"type":"boolean"})", "plan it and show it, write nothing"},
};

constexpr Parameter item_query[] = {
    {"limit", R"({"type":"integer","minimum":1,"maximum":1000})", "rows at most; 20 unless given"},
    {"order", R"({"type":"string","enum":["asc","desc"]})", "newest first unless asc"},
    {"after", R"({"type":"string"})", "go on behind this item"},
    {"before", R"({"type":"string"})", "the page that ends before this item"},
    {"include*", R"({"type":"string"})", "all that is stored is always shown"},
};
constexpr Parameter include_query[] = {
    {"include*", R"({"type":"string"})", "all that is stored is always shown"},
};

constexpr Parameter response_query[] = {
    {"stream", R"({"type":"boolean"})", "as events, from the first one on"},
    {"starting_after", R"({"type":"integer","minimum":0,"maximum":9007199254740991})",
     "of a stream: only events behind this sequence_number"},
    {"include*", R"({"type":"string"})", "all that is stored is always shown"},
};
constexpr Parameter completion_query[] = {
    {"limit", R"({"type":"integer","minimum":1,"maximum":1000})", "rows at most; 20 unless given"},
    {"order", R"({"type":"string","enum":["asc","desc"]})", "oldest first unless desc"},
    row_after,
    row_before,
    {"model", R"({"type":"string"})", "only of this model"},
    {"metadata[*", R"({"type":"string"})", "metadata[KEY]=VALUE: only where that field is VALUE"},
};
constexpr Parameter completion_message_query[] = {
    {"limit", R"({"type":"integer","minimum":1,"maximum":1000})", "rows at most; 20 unless given"},
    {"order", R"({"type":"string","enum":["asc","desc"]})", "in their order unless desc"},
    row_after,
    row_before,
};
constexpr Parameter model_query[] = {
    {"limit", R"({"type":"integer","minimum":1,"maximum":1000})",
     "rows at most; 1000 unless given"},
    {"after_id", R"({"type":"string"})", "go on behind this model"},
    {"before_id", R"({"type":"string"})", "the page that ends before this model"},
};
constexpr Parameter beta_query[] = {
    {"beta", R"({"type":"string"})", "Anthropic's clients send it; it changes nothing"},
};

// Fields of a header by which content goes, or is sent no more.
constexpr std::string_view governing[] = {"policy", "ttl"};

constexpr std::string_view conversations = "/api/v1/conversations";
constexpr std::string_view one = "/api/v1/conversations/{id}";

// clang-format off
constexpr Route table[] = {
    {.method = "GET", .pattern = "/healthz", .function = get_health,
     .summary = "Is the process alive?", .reply = "Health", .scope = Scope::open},
    {.method = "GET", .pattern = "/readyz", .function = get_ready,
     .summary = "Do the store and the models' servers answer? Which, to a key that may read",
     .reply = "Ready", .query = ready_query, .scope = Scope::open, .knows_caller = true,
     .lane = Lane::slow},
    {.method = "GET", .pattern = "/metrics", .function = get_metrics,
     .summary = "Counters, in the text format of Prometheus", .reply = "Metrics",
     .scope = Scope::admin, .type = "text/plain; version=0.0.4; charset=utf-8"},
    {.method = "GET", .pattern = "/openapi.json", .function = get_openapi,
     .summary = "This description", .reply = "OpenApi", .scope = Scope::open},
    {.method = "GET", .pattern = "/", .function = get_landing,
     .summary = "What this is and how to point a client at it", .reply = "Landing",
     .scope = Scope::open, .type = "text/html; charset=utf-8"},

    {.method = "POST", .pattern = conversations, .function = create_conversation,
     .summary = "Create a conversation", .status = 201, .reply = "Conversation", .tells_end = true,
     .request = "NewConversation", .again = repeat_create},
    {.method = "GET", .pattern = conversations, .function = list_conversations,
     .summary = "List conversations", .reply = "ConversationList", .query = conversation_query},
    {.method = "GET", .pattern = one, .function = get_conversation,
     .summary = "Read a conversation's header", .reply = "Conversation", .tells_end = true},
    {.method = "PATCH", .pattern = one, .function = patch_conversation,
     .summary = "Change a conversation's header; metadata is merged", .reply = "Conversation",
     .tells_end = true,
     .request = "ConversationPatch", .if_match = true, .scope = Scope::read_write,
     .act = "conversation.change", .act_fields = governing},
    {.method = "DELETE", .pattern = one, .function = delete_conversation,
     .summary = "Erase a conversation for good; forks keep what they share", .reply = "Erased",
     .act = "conversation.erase"},

    {.method = "POST", .pattern = "/api/v1/conversations/{id}/messages",
     .function = append_messages, .summary = "Append messages; creates the conversation",
     .status = 201, .reply = "Written",
     .tells_end = true, .request = "NewMessages", .if_match = true},
    {.method = "GET", .pattern = "/api/v1/conversations/{id}/messages", .function = list_messages,
     .summary = "Read messages as they came in", .reply = "EntryList",
     .tells_end = true, .query = entry_query},
    {.method = "GET", .pattern = "/api/v1/conversations/{id}/log", .function = list_log,
     .summary = "Read the log: messages and what was done to them", .reply = "EntryList",
     .tells_end = true,
     .query = log_query},
    {.method = "GET", .pattern = "/api/v1/conversations/{id}/view", .function = get_view,
     .summary = "Show what the model would be sent, now or at a past seq", .reply = "View",
     .tells_end = true,
     .query = view_query},
    {.method = "GET", .pattern = "/api/v1/conversations/{id}/calls/{seq}", .function = get_call,
     .summary = "Show what the model was sent at a past call, by the seq of its note",
     .reply = "PastCall", .tells_end = true},

    {.method = "GET", .pattern = "/api/v1/conversations/{id}/memory", .function = get_strategy,
     .summary = "Read the conversation's memory strategy", .reply = "MemoryStrategy",
     .tells_end = true,
     .query = strategy_query},
    {.method = "PATCH", .pattern = "/api/v1/conversations/{id}/memory",
     .function = patch_strategy_of, .summary = "Change fields of the memory strategy; null clears",
     .reply = "MemoryStrategy",
     .tells_end = true, .request = "MemoryStrategyPatch", .query = strategy_query,
     .if_match = true, .scope = Scope::read_write, .act = "policy.change"},
    {.method = "GET", .pattern = "/api/v1/conversations/{id}/summaries",
     .function = list_summaries, .summary = "List summaries: what they cover, cost, who wrote them",
     .reply = "SummaryList", .query = summary_query},
    {.method = "POST", .pattern = "/api/v1/conversations/{id}/summaries",
     .function = store_summary, .summary = "Put a summary of one's own in the place of messages",
     .status = 201, .reply = "Compaction",
     .tells_end = true, .request = "NewSummary", .if_match = true,
     .again = repeat_summary},
    {.method = "GET", .pattern = "/api/v1/conversations/{id}/breakdown",
     .function = get_breakdown, .summary = "Tokens and money by what they go to; triggers",
     .reply = "Breakdown", .query = breakdown_query},
    {.method = "GET", .pattern = "/api/v1/conversations/{id}/diff", .function = get_diff,
     .summary = "Two views beside each other", .reply = "Diff", .query = diff_query},
    {.method = "GET", .pattern = "/api/v1/conversations/{id}/recall/{call_id}",
     .function = recall_messages,
     .summary = "Fetch what was left out: by call id, seq, or range as 4..9",
     .reply = "RecallList", .query = recall_query},
    {.method = "GET", .pattern = "/api/v1/search", .function = search_messages,
     .summary = "Search everything that was said, best first; warnings are in x-warnings",
     .reply = "SearchList",
     .query = search_query},
    {.method = "GET", .pattern = "/api/v1/recall-tool", .function = get_recall_tool,
     .summary = "The tool that lets a model recall what was left out", .reply = "ToolDefinition",
     .query = recall_tool_query},

    {.method = "POST", .pattern = "/api/v1/conversations/{id}/fork",
     .function = fork_conversation, .summary = "Fork: a new conversation that shares the log",
     .status = 201, .reply = "Conversation",
     .tells_end = true, .request = "NewFork", .if_match = true, .scope = Scope::read_write,
     .again = repeat_create},
    {.method = "POST", .pattern = "/api/v1/conversations/{id}/checkpoints",
     .function = create_checkpoint, .summary = "Name the present position", .status = 201,
     .reply = "Checkpoint", .tells_end = true, .request = "NewCheckpoint", .if_match = true,
     .again = repeat_checkpoint},
    {.method = "GET", .pattern = "/api/v1/conversations/{id}/checkpoints",
     .function = list_checkpoints, .summary = "List checkpoints", .reply = "CheckpointList",
     .query = checkpoint_query},
    {.method = "GET", .pattern = "/api/v1/checkpoints/{id}", .function = get_checkpoint,
     .summary = "Read one checkpoint, and which conversation it is in", .reply = "Checkpoint",
     .tells_end = true},
    {.method = "POST", .pattern = "/api/v1/conversations/{id}/pins", .function = pin_message,
     .summary = "Pin a message (and its group): always sent verbatim", .status = 201,
     .reply = "Edited",
     .tells_end = true, .request = "Pin", .if_match = true, .again = repeat_edit},
    {.method = "DELETE", .pattern = "/api/v1/conversations/{id}/pins", .function = unpin_message,
     .summary = "Unpin a message", .reply = "Edited",
     .tells_end = true, .request = "Pin", .query = unpin_query,
     .if_match = true},
    {.method = "POST", .pattern = "/api/v1/conversations/{id}/undo", .function = undo_edit,
     .summary = "Undo an edit (the newest unless named); undo an undo to redo",
     .reply = "Edited",
     .tells_end = true, .request = "Undo", .if_match = true, .again = repeat_edit},
    {.method = "POST", .pattern = "/api/v1/conversations/{id}/retract",
     .function = retract_messages, .summary = "Hide messages, undoably", .reply = "Edited",
     .tells_end = true,
     .request = "Retract", .if_match = true, .again = repeat_edit},
    {.method = "POST", .pattern = "/api/v1/conversations/{id}/rewind",
     .function = rewind_conversation, .summary = "Go back: hide what came after a seq, undoably",
     .reply = "Edited",
     .tells_end = true, .request = "Rewind", .if_match = true, .again = repeat_edit},
    {.method = "POST", .pattern = "/api/v1/conversations/{id}/scrub", .function = scrub_messages,
     .summary = "Remove the content of messages for good, in every fork", .reply = "Scrubbed",
     .request = "Scrub", .again = repeat_scrub, .act = "messages.scrub"},
    {.method = "POST", .pattern = "/api/v1/conversations/{id}/compact",
     .function = compact_conversation, .summary = "Compact now, or show what it would do",
     .reply = "Compaction",
     .tells_end = true, .request = "Compact", .query = compact_query, .if_match = true,
     .scope = Scope::read_write, .again = repeat_compact},

    {.method = "POST", .pattern = "/api/v1/conversations/{id}/begin", .function = begin_turn,
     .summary = "Store what was said and give the view to send", .reply = "Begun",
     .tells_end = true,
     .request = "Begin", .if_match = true, .scope = Scope::read_write, .lane = Lane::slow},
    {.method = "POST", .pattern = "/api/v1/conversations/{id}/finish", .function = finish_turn,
     .summary = "Store the model's answer", .reply = "Turn",
     .tells_end = true, .request = "Finish"},
    {.method = "GET", .pattern = "/api/v1/conversations/{id}/usage", .function = get_usage,
     .summary = "What the calls of a conversation took, by day", .reply = "UsageList",
     .query = usage_query},
    {.method = "GET", .pattern = "/api/v1/usage", .function = get_tenant_usage,
     .summary = "What all calls took, by day", .reply = "UsageList", .query = usage_query},

    {.method = "GET", .pattern = "/api/v1/agents", .function = list_agents,
     .summary = "List agents: defaults for conversations", .reply = "AgentList",
     .query = agent_query},
    {.method = "GET", .pattern = "/api/v1/agents/{key}", .function = get_agent,
     .summary = "Read an agent", .reply = "Agent"},
    {.method = "PUT", .pattern = "/api/v1/agents/{key}", .function = put_agent,
     .summary = "Make or replace an agent", .reply = "Agent", .request = "NewAgent",
     .act = "agent.put"},
    {.method = "DELETE", .pattern = "/api/v1/agents/{key}", .function = delete_agent,
     .summary = "Remove an agent", .reply = "DeletedAgent", .act = "agent.delete"},
    {.method = "GET", .pattern = "/api/v1/audit", .function = list_audited,
     .summary = "Who removed or governed what, newest first", .reply = "AuditList",
     .query = audit_query, .scope = Scope::admin},

    {.method = "POST", .pattern = "/api/v1/state/chat", .function = chat_with_state,
     .summary = "One turn over a state that the caller keeps; nothing is stored",
     .reply = "StateTurn", .request = "StateChat", .lane = Lane::slow, .asks_model = true},
    {.method = "POST", .pattern = "/api/v1/state/append", .function = append_to_state,
     .summary = "Add messages to a state that the caller keeps; nothing is stored",
     .reply = "StateAppended", .request = "StateAppend"},

    {.method = "POST", .pattern = "/api/v1/chat", .function = chat,
     .summary = "One turn with the server's model", .reply = "Turn",
     .tells_end = true, .request = "Chat",
     .if_match = true, .lane = Lane::slow, .asks_model = true, .events = "TurnEvents",
     .streams = true},

    {.method = "POST", .pattern = "/v1/chat/completions", .function = create_completion,
     .summary = "One answer, or one turn of a conversation (OpenAI)", .reply = "Completion",
     .tells_end = true,
     .request = "CompletionRequest", .if_match = true, .named_by_header = true,
     .lane = Lane::network,
     .asks_model = true, .events = "CompletionEvents", .streams = true, .own_key = true},
    {.method = "GET", .pattern = "/v1/chat/completions", .function = list_completions,
     .summary = "List stored completions (OpenAI)", .reply = "CompletionList",
     .query = completion_query},
    {.method = "GET", .pattern = "/v1/chat/completions/{id}", .function = get_completion,
     .summary = "Read a stored completion (OpenAI)", .reply = "Completion"},
    {.method = "POST", .pattern = "/v1/chat/completions/{id}", .function = update_completion,
     .summary = "Replace a stored completion's metadata (OpenAI)", .reply = "Completion",
     .request = "CompletionUpdate", .scope = Scope::read_write, .again = repeat_completion_update},
    {.method = "DELETE", .pattern = "/v1/chat/completions/{id}", .function = delete_completion,
     .summary = "Remove a stored completion (OpenAI)", .reply = "CompletionDeleted",
     .act = "completion.delete"},
    {.method = "GET", .pattern = "/v1/chat/completions/{id}/messages",
     .function = list_completion_messages, .summary = "What a stored completion was asked (OpenAI)",
     .reply = "CompletionList", .query = completion_message_query},
    {.method = "POST", .pattern = "/v1/messages", .function = create_message,
     .summary = "One answer, or one turn of a conversation (Anthropic)",
     .reply = "AnthropicMessage",
     .tells_end = true, .request = "AnthropicRequest", .query = beta_query,
     .if_match = true, .named_by_header = true, .lane = Lane::network, .asks_model = true,
     .events = "AnthropicEvents",
     .streams = true, .own_key = true,
     .errors = ErrorShape::anthropic},
    {.method = "POST", .pattern = "/v1/messages/count_tokens", .function = count_message_tokens,
     .summary = "How many tokens a request has (Anthropic)", .reply = "AnthropicCount",
     .request = "AnthropicRequest", .query = beta_query, .lane = Lane::network, .own_key = true,
     .errors = ErrorShape::anthropic},
    {.method = "GET", .pattern = "/v1/models", .function = list_models,
     .summary = "Which models there are (OpenAI, Anthropic)", .reply = "ModelEntries",
     .query = model_query},
    {.method = "GET", .pattern = "/v1/models/{id}", .function = get_model,
     .summary = "One model (OpenAI, Anthropic)", .reply = "ModelEntry"},
    {.method = "POST", .pattern = "/v1/embeddings", .function = create_embeddings,
     .summary = "Embeddings, by a model whose server makes them (OpenAI)", .reply = "Embeddings",
     .request = "EmbeddingsRequest", .lane = Lane::network, .asks_model = true, .own_key = true},

    {.method = "POST", .pattern = "/v1/conversations", .function = create_openai_conversation,
     .summary = "Create a conversation (OpenAI)", .reply = "OpenAiConversation", .tells_end = true,
     .request = "OpenAiNewConversation", .again = repeat_openai_create},
    {.method = "GET", .pattern = "/v1/conversations", .function = list_openai_conversations,
     .summary = "List conversations (beyond OpenAI)", .reply = "OpenAiConversationList",
     .query = conversation_query},
    {.method = "GET", .pattern = "/v1/conversations/{id}", .function = get_openai_conversation,
     .summary = "Read a conversation (OpenAI)", .reply = "OpenAiConversation", .tells_end = true},
    {.method = "POST", .pattern = "/v1/conversations/{id}",
     .function = update_openai_conversation, .summary = "Replace the metadata (OpenAI)",
     .reply = "OpenAiConversation", .tells_end = true, .request = "OpenAiConversationUpdate",
     .scope = Scope::read_write, .again = repeat_openai_update},
    {.method = "DELETE", .pattern = "/v1/conversations/{id}",
     .function = delete_openai_conversation, .summary = "Erase a conversation for good (OpenAI)",
     .reply = "OpenAiDeletedConversation", .act = "conversation.erase"},
    {.method = "POST", .pattern = "/v1/conversations/{id}/fork",
     .function = fork_openai_conversation,
     .summary = "Fork: a new conversation that shares the log (beyond OpenAI)",
     .reply = "OpenAiConversation",
     .tells_end = true, .request = "OpenAiFork", .scope = Scope::read_write,
     .again = repeat_openai_create},
    {.method = "POST", .pattern = "/v1/conversations/{id}/items",
     .function = create_openai_items, .summary = "Add items to a conversation (OpenAI)",
     .reply = "OpenAiItemList",
     .tells_end = true, .request = "OpenAiNewItems", .query = include_query, .if_match = true},
    {.method = "GET", .pattern = "/v1/conversations/{id}/items", .function = list_openai_items,
     .summary = "List items, newest first (OpenAI)", .reply = "OpenAiItemList", .tells_end = true,
     .query = item_query},
    {.method = "GET", .pattern = "/v1/conversations/{id}/items/{item}",
     .function = get_openai_item, .summary = "Read one item (OpenAI)", .reply = "OpenAiItem",
     .tells_end = true,
     .query = include_query},
    {.method = "DELETE", .pattern = "/v1/conversations/{id}/items/{item}",
     .function = delete_openai_item,
     .summary = "Hide an item and what it cannot be parted from; undo brings it back (OpenAI)",
     .reply = "OpenAiConversation", .tells_end = true, .scope = Scope::read_write},

    {.method = "POST", .pattern = "/v1/responses", .function = create_response,
     .summary = "Answer: whole, as a stream, or in the background (OpenAI)",
     .reply = "OpenAiResponse", .request = "OpenAiNewResponse", .named_by_header = true,
     .lane = Lane::slow, .asks_model = true, .events = "ResponseEvents", .streams = true},
    {.method = "GET", .pattern = "/v1/responses/{id}", .function = get_response,
     .summary = "Read a stored response, or follow its events (OpenAI)",
     .reply = "OpenAiResponse", .query = response_query, .lane = Lane::slow,
     .events = "ResponseEvents", .streams = true},
    {.method = "DELETE", .pattern = "/v1/responses/{id}", .function = delete_response,
     .summary = "Delete a response; the last one takes along what was made for it (OpenAI)",
     .reply = "OpenAiDeletedResponse", .act = "response.delete"},
    {.method = "POST", .pattern = "/v1/responses/{id}/cancel", .function = cancel_response,
     .summary = "Stop a response that runs in the background (OpenAI)",
     .reply = "OpenAiResponse", .scope = Scope::read_write, .lane = Lane::slow},
    {.method = "GET", .pattern = "/v1/responses/{id}/input_items",
     .function = list_input_items, .summary = "What the response answers, newest first (OpenAI)",
     .reply = "OpenAiItemList", .query = item_query},
    {.method = "POST", .pattern = "/v1/responses/input_tokens", .function = count_input_tokens,
     .summary = "Count the tokens of a request (OpenAI)", .reply = "OpenAiTokenCount",
     .request = "OpenAiTokenCountRequest"},
    {.method = "POST", .pattern = "/v1/responses/compact", .function = compact_response,
     .summary = "Fold a list of items into what the user said and one compaction (OpenAI)",
     .reply = "OpenAiCompaction", .request = "OpenAiCompactRequest",
     .scope = Scope::read_write, .lane = Lane::slow},

    {.method = "POST", .pattern = "/internal/store/{operation}", .function = call_store,
     .summary = "For commands on the store that this process holds; needs the lock file's token",
     .scope = Scope::open, .internal = true, .body = BodyKind::bytes,
     .type = "application/octet-stream"},
};
// clang-format on

}  // namespace

std::span<const Route> routes() {
    return table;
}

}  // namespace palimpsest
