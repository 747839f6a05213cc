// rest: the functions of the routes under /api/v1 and the probes, by file.
// What each takes and gives stands in its row of routes.cpp and the schemas named there.
#pragma once
#include "base/json_write.h"
#include "server/route.h"

namespace palimpsest {

// probes.cpp
Result<Reply> get_health(Call& call);
Result<Reply> get_ready(Call& call);
Result<Reply> get_openapi(Call& call);

// conversations.cpp
Result<Reply> create_conversation(Call& call);
Result<Reply> repeat_create(Call& call, Seq);  // also of a fork
Result<Reply> list_conversations(Call& call);
Result<Reply> get_conversation(Call& call);
Result<Reply> patch_conversation(Call& call);
Result<Reply> delete_conversation(Call& call);

// log_routes.cpp
Result<Reply> append_messages(Call& call);
Result<Reply> list_messages(Call& call);
Result<Reply> list_log(Call& call);
Result<Reply> get_view(Call& call);
Result<Reply> get_call(Call& call);

// edits.cpp
Result<Reply> fork_conversation(Call& call);
Result<Reply> create_checkpoint(Call& call);
Result<Reply> list_checkpoints(Call& call);
Result<Reply> get_checkpoint(Call& call);
Result<Reply> pin_message(Call& call);
Result<Reply> unpin_message(Call& call);
Result<Reply> undo_edit(Call& call);
Result<Reply> retract_messages(Call& call);
Result<Reply> rewind_conversation(Call& call);
Result<Reply> scrub_messages(Call& call);
Result<Reply> compact_conversation(Call& call);
Result<Reply> repeat_edit(Call& call, Seq seq);
Result<Reply> repeat_checkpoint(Call& call, Seq seq);
Result<Reply> repeat_scrub(Call& call, Seq);
Result<Reply> repeat_compact(Call& call, Seq seq);

// turns.cpp
Result<Reply> begin_turn(Call& call);
Result<Reply> finish_turn(Call& call);
Result<Reply> chat(Call& call);

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
// A conflict that repeating cannot solve names what caused it.
Error blame(Error error, const Call& call, std::string_view param);
Reply header_reply(const Header& header);
Reply seq_reply(Seq seq);

// {"data":[...],"has_more","first_id","last_id"}, built row by row.
class ListReply {
public:
    ListReply() : out_(reply_.body) { out_.begin_object().key("data").begin_array(); }
    // Where to write the next row's JSON.
    JsonWriter& row(std::string id);
    // `next`: the store's own cursor, where it has one.
    Reply end(bool has_more, std::string_view next = {});

private:
    Reply reply_;
    JsonWriter out_;
    std::string first_, last_;
};

}  // namespace palimpsest
