// edits: everything that changes what is seen of a conversation without adding to what was said.
#include <algorithm>

#include "base/ids.h"
#include "engine/present.h"
#include "engine/report.h"
#include "server/asked_model.h"
#include "server/kept_words.h"
#include "server/paging.h"
#include "server/rest.h"

namespace palimpsest {
namespace {

constexpr std::string_view checkpoint_prefix = "ckpt_";

Result<RouteReply> edited(const Call& call, const Result<Seq>& seq) {
    if (!seq) return std::unexpected(blame(seq.error(), call, ""));
    return seq_reply(*seq);
}

// {"seq": 12} or {"seq": "last"}: the newest message.
Result<Seq> message_named(Call& call, std::optional<std::uint64_t> seq) {
    if (seq) return Seq{*seq};
    PAL_TRY(newest, call.site.memory.log(call.name(), {.kinds = only(EntryKind::message),
                                                       .limit = 1,
                                                       .newest_first = true,
                                                       .content = false}));
    if (newest.empty())
        return fail(ErrorCode::not_found, "the conversation has no message yet", "seq");
    return newest.front().seq;
}

// Where a fork starts: a seq, or a checkpoint by name or id.
Result<std::optional<Seq>> fork_place(Call& call) {
    const std::optional<JsonValue> at = call.field("at");
    if (!at) return std::optional<Seq>();
    if (!at->is_string()) return std::optional(Seq{*call.number("at")});
    PAL_TRY(checkpoint, call.site.memory.find_checkpoint(call.name(), at->string()));
    return std::optional(checkpoint.seq);
}

RouteReply checkpoint_reply(const Checkpoint& checkpoint) {
    RouteReply reply{.etag = checkpoint.seq};
    JsonWriter out(reply.body);
    write_checkpoint(out, checkpoint);
    return reply;
}

RouteReply compaction_reply(const Compaction& compaction) {
    RouteReply reply;
    // Its report stands behind it and is the end of the log.
    if (compaction.seq != Seq{}) reply.etag = compaction.seq + 1;
    JsonWriter out(reply.body);
    write_compaction(out, compaction);
    return reply;
}

std::vector<Seq> seqs_of(const Call& call) {
    std::vector<Seq> seqs;
    for (const JsonValue seq : call.field("seqs")->elements())
        seqs.push_back({static_cast<std::uint64_t>(*seq.integer())});
    return seqs;
}

RouteReply scrub_reply(const std::vector<Seq>& seqs) {
    RouteReply reply;
    JsonWriter out(reply.body);
    out.begin_object().key("scrubbed").begin_array();
    for (const Seq seq : seqs) out.number(seq.value);
    out.end_array().end_object();
    return reply;
}

}  // namespace

Result<RouteReply> fork_conversation(Call& call) {
    PAL_TRY(child, new_name(call));
    PAL_TRY(at, fork_place(call));
    const Result<Header> header = call.site.memory.fork(call.name(), child, at, call.write());
    if (!header) return std::unexpected(blame(header.error(), call, "id"));
    return header_reply(*header);
}

Result<RouteReply> create_checkpoint(Call& call) {
    const std::optional<JsonValue> metadata = call.field("metadata");
    const Result<Checkpoint> made = call.site.memory.checkpoint(
        call.name(), *call.text("name"), metadata ? metadata->raw() : "{}", call.write());
    if (!made) return std::unexpected(blame(made.error(), call, ""));
    return checkpoint_reply(*made);
}

Result<RouteReply> repeat_checkpoint(Call& call, Seq seq) {
    PAL_TRY(all, call.site.memory.checkpoints(call.name()));
    for (const Checkpoint& checkpoint : all)
        if (checkpoint.seq == seq) return checkpoint_reply(checkpoint);
    return fail(ErrorCode::not_found, "the checkpoint of this Idempotency-Key is gone");
}

// By its id alone, which names the log that it stands in. Another tenant's is not there.
Result<RouteReply> get_checkpoint(Call& call) {
    const std::string& id = call.ids.at(0);
    const auto gone = [] {
        return fail(ErrorCode::not_found, "there is no such checkpoint", "id");
    };
    const std::optional<Position> position = parse_position_id(checkpoint_prefix, id);
    if (!position) return gone();
    Store& store = call.site.memory.store();
    const Result<Header> header = store.head(position->log);
    if (!header && header.error().code != ErrorCode::not_found)
        return std::unexpected(header.error());
    if (!header || header->name.tenant != call.site.tenant) return gone();
    PAL_TRY(entries, store.read(header->log, {.ranges = {{position->seq, position->seq}},
                                              .kinds = only(EntryKind::checkpoint)}));
    if (entries.empty()) return gone();
    const auto& body = std::get<CheckpointEntry>(entries.front().body);
    RouteReply reply =
        checkpoint_reply({id, position->seq, entries.front().at, body.name, body.metadata});
    reply.etag = header->end;
    // Erased, but a fork still shares it: no name is left.
    const std::string& name = header->name.id;
    reply.body.pop_back();
    reply.body += ",\"conversation_id\":" + (name.empty() ? "null" : json_string(name)) + "}";
    return reply;
}

// All of them are read: a checkpoint is small, and people make few.
Result<RouteReply> list_checkpoints(Call& call) {
    PAL_TRY(all, call.site.memory.checkpoints(call.name(), labels_of(call.query)));
    if (const auto name = call.query.text("name"))
        std::erase_if(all, [&](const Checkpoint& one) { return one.name != *name; });
    PAL_TRY(page, find_page(call.query, all.size(),
                            place_by_id(all, [](const Checkpoint& one) { return one.id; })));
    return write_rows(
        page, {}, [&](std::size_t i) { return all[i].id; },
        [&](JsonWriter& out, std::size_t i) { write_checkpoint(out, all[i]); });
}

Result<RouteReply> pin_message(Call& call) {
    PAL_TRY(seq, message_named(call, call.number("seq")));
    return edited(call, call.site.memory.pin(call.name(), seq, call.write()));
}

Result<RouteReply> unpin_message(Call& call) {
    const std::optional<std::uint64_t> in_query = call.query.number("seq");
    PAL_TRY(seq, message_named(call, in_query ? in_query : call.number("seq")));
    return edited(call, call.site.memory.unpin(call.name(), seq, call.write()));
}

Result<RouteReply> undo_edit(Call& call) {
    const std::optional<std::uint64_t> seq = call.number("seq");
    const std::optional<Seq> entry = seq ? std::optional(Seq{*seq}) : std::nullopt;
    return edited(call, call.site.memory.undo(call.name(), entry, call.write()));
}

Result<RouteReply> retract_messages(Call& call) {
    const Seq from{*call.number("from")};
    const Range range{from, Seq{call.number("to").value_or(from.value)}};
    if (range.empty()) return fail(ErrorCode::invalid_request, "'to' is before 'from'", "to");
    return edited(call, call.site.memory.retract(call.name(), range,
                                                 call.text("reason").value_or(""), call.write()));
}

Result<RouteReply> rewind_conversation(Call& call) {
    return edited(call, call.site.memory.rewind(call.name(), Seq{*call.number("to")},
                                                call.text("reason").value_or(""), call.write()));
}

Result<RouteReply> repeat_edit(Call&, Seq seq) {
    return seq_reply(seq);
}

Result<RouteReply> scrub_messages(Call& call) {
    const std::vector<Seq> seqs = seqs_of(call);
    PAL_CHECK(scrub_all(call.site, call.name(), seqs));
    return scrub_reply(seqs);
}

Result<RouteReply> repeat_scrub(Call& call, Seq) {
    return scrub_reply(seqs_of(call));
}

Result<RouteReply> compact_conversation(Call& call) {
    const std::optional<JsonValue> policy = call.field("policy");
    const CompactOptions options{.policy = policy ? policy->raw() : std::string_view(),
                                 .preview = call.query.flag("preview"),
                                 .model = call.text("model").value_or(""),
                                 .window = call.number("window"),
                                 .summaries = summary_terms(call)};
    Span span = call.trace->span("memory.compact");
    const Result<Compaction> done = call.site.memory.compact(call.name(), options, call.write());
    if (done) describe_compaction(span, *done);
    if (!done) return std::unexpected(blame(done.error(), call, ""));
    if (done->outcome == Compaction::Outcome::unreachable)
        return std::unexpected(unreachable_error(*done));
    return compaction_reply(*done);
}

// Read from the log, so that what was scrubbed since is not told again. Without an entry nothing
// was done the first time, and the answer is what would be done now.
Result<RouteReply> repeat_compact(Call& call, Seq seq) {
    if (seq == Seq{}) return compact_conversation(call);
    PAL_TRY(compaction, call.site.memory.find_compaction(call.name(), seq - 1));
    return compaction_reply(compaction);
}

}  // namespace palimpsest
