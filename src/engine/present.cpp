#include "engine/present.h"

#include <string>

#include "base/ids.h"
#include "base/json.h"
#include "base/time.h"
#include "engine/report.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

void field(JsonWriter& out, std::string_view name, std::uint64_t value) {
    out.key(name).number(value);
}
void field(JsonWriter& out, std::string_view name, Seq seq) {
    out.key(name).number(seq.value);
}
void field(JsonWriter& out, std::string_view name, Time time) {
    out.field(name, format_time(time));
}
void flag(JsonWriter& out, std::string_view name, bool value) {
    if (value) out.key(name).boolean(true);
}

// Raw bytes that were checked when they came in; none are null.
void raw_or_null(JsonWriter& out, std::string_view json) {
    json.empty() ? out.null() : out.raw(json);
}

// Text that is JSON in most stores, a plain name in some: written as what it is.
void json_or_text(JsonWriter& out, std::string_view text) {
    if (text.empty()) {
        out.null();
    } else if (parse_json(text)) {
        out.raw(text);
    } else {
        out.string(text);
    }
}

void write_range(JsonWriter& out, Range range) {
    field(out, "from", range.from);
    field(out, "to", range.to);
}

// The value under the entry's kind, one overload for each kind.
struct BodyWriter {
    JsonWriter& out;

    void operator()(const MessageEntry& body) const {
        raw_or_null(out, view_of(body.message.raw));
        out.field("role", role_name(body.message.shape.role));
        out.field("format", format_name(body.message.format));
        flag(out, "interrupted", body.interrupted);
        flag(out, "scrubbed", body.scrubbed);
        if (body.answers != Seq{}) field(out, "answers", body.answers);
    }
    void operator()(const CompactionEntry& body) const {
        out.begin_object().field("cause", cause_name(body.cause));
        out.field("trigger", body.trigger);
        json_or_text(out.key("policy"), body.policy);
        field(out, "tokens_before", body.tokens_before);
        field(out, "tokens_after", body.tokens_after);
        out.key("edits").begin_array();
        for (const Edit& edit : body.edits) write_edit(out, edit);
        out.end_array().end_object();
    }
    void operator()(const PinEntry& body) const {
        out.begin_object().key("targets").begin_array();
        for (const Seq target : body.targets) out.number(target.value);
        out.end_array().key("on").boolean(body.on).end_object();
    }
    void operator()(const RetractEntry& body) const {
        out.begin_object();
        write_range(out, body.range);
        out.key("also").begin_array();
        for (const Seq seq : body.also) out.number(seq.value);
        out.end_array().field("reason", body.reason).end_object();
    }
    void operator()(const RewindEntry& body) const {
        out.begin_object();
        field(out, "to", body.to);
        field(out, "upto", body.upto);
        out.field("reason", body.reason).end_object();
    }
    void operator()(const UndoEntry& body) const {
        out.begin_object();
        field(out, "target", body.target);
        field(out, "root", body.root);
        out.end_object();
    }
    void operator()(const CheckpointEntry& body) const {
        out.begin_object().field("name", body.name);
        json_or_text(out.key("metadata"), body.metadata);
        out.end_object();
    }
    void operator()(const SealedEntry&) const { out.null(); }
    void operator()(const NoteEntry& body) const {
        out.begin_object().field("kind", body.kind);
        raw_or_null(out.key("body"), view_of(body.body));
        out.end_object();
    }
};

std::uint32_t tokens_of(const Entry& entry) {
    const auto* message = std::get_if<MessageEntry>(&entry.body);
    return message ? message->message.count.tokens : 0;
}

// The bytes of the messages as they went out, and what had to be repaired for it.
void write_sent(JsonWriter& out, const Result<Rendered>& sent) {
    out.key("messages");
    if (!sent) {
        out.null().key("repairs").begin_array().string(sent.error().message).end_array();
        return;
    }
    out.raw(write_list(sent->messages));
    if (!sent->system.empty()) out.field("system", sent->system);
    out.key("repairs").begin_array();
    for (const RepairNote& note : sent->notes) out.string(note.what);
    out.end_array();
}

}  // namespace

std::string_view treatment_name(Treatment treatment) {
    switch (treatment) {
        case Treatment::verbatim:
            return "verbatim";
        case Treatment::shortened:
            return "shortened";
        case Treatment::cleared:
            return "cleared";
        case Treatment::folded:
            return "folded";
        case Treatment::dropped:
            return "dropped";
    }
    return "unknown";
}

std::string_view cause_name(Cause cause) {
    switch (cause) {
        case Cause::policy:
            return "policy";
        case Cause::request:
            return "request";
        case Cause::overflow:
            return "overflow";
        case Cause::import:
            return "import";
    }
    return "unknown";
}

void write_entry(JsonWriter& out, const Entry& entry) {
    const std::string_view kind = entry_kind_name(kind_of(entry.body));
    out.begin_object();
    field(out, "seq", entry.seq);
    out.field("kind", kind);
    field(out, "at", entry.at);
    field(out, "tokens", tokens_of(entry));
    std::visit(BodyWriter{out.key(kind)}, entry.body);
    out.end_object();
}

void write_edit(JsonWriter& out, const Edit& edit) {
    out.begin_object().field("kind", treatment_name(edit.treatment));
    write_range(out, edit.range);
    out.field("reason", edit.reason).field("pass", edit.pass);
    field(out, "tokens_before", edit.before.tokens);
    field(out, "tokens_after", edit.after.tokens);
    if (edit.treatment == Treatment::folded) {
        out.key("summary");
        edit.result ? out.string(*edit.result) : out.null();
    } else if (edit.treatment != Treatment::dropped) {
        raw_or_null(out.key("message"), view_of(edit.result));
    }
    flag(out, "scrubbed", edit.scrubbed);
    out.end_object();
}

void write_header(JsonWriter& out, const Header& header) {
    out.begin_object().field("id", header.name.id).field("owner", header.owner);
    out.field("title", header.title).field("system_prompt", header.system_prompt);
    json_or_text(out.key("metadata"), header.metadata);
    json_or_text(out.key("policy"), header.policy);
    field(out, "messages", header.messages);
    field(out, "seq", header.end);
    field(out, "created_at", header.created);
    field(out, "updated_at", header.updated);
    field(out, "accessed_at", header.accessed);
    out.key("expires_at");
    header.expires ? out.string(format_time(*header.expires)) : out.null();
    out.key("ttl_ms");
    header.ttl ? out.number(std::int64_t{header.ttl->count()}) : out.null();
    out.key("parent");
    if (header.parent) {
        out.begin_object().field("log", hex(*header.parent));
        field(out, "seq", header.base);
        out.end_object();
    } else {
        out.null();
    }
    out.field("log", hex(header.log));
    field(out, "revision", header.revision);
    out.end_object();
}

void write_item(JsonWriter& out, const Item& item) {
    out.begin_object().field("kind", item_kind_name(item.kind));
    write_range(out, item.range);
    field(out, "tokens", item.tokens);
    out.field("reason", item.reason);
    raw_or_null(out.key("message"), view_of(item.message.raw));
    flag(out, "pinned", item.pinned);
    flag(out, "interrupted", item.interrupted);
    flag(out, "compacted", item.kind == ItemKind::cleared || item.kind == ItemKind::shortened);
    if (item.by != Seq{}) field(out, "by", item.by);
    out.end_object();
}

void write_view(JsonWriter& out, const View& view) {
    out.begin_object().key("items").begin_array();
    for (const Item& item : view.items) write_item(out, item);
    out.end_array();
    field(out, "tokens", view.tokens);
    field(out, "seq", view.seq);
    out.end_object();
}

Result<Rendered> sent_messages(const PastCall& call) {
    PAL_TRY(document, parse_json(call.note));
    const auto named = document.root().find("format");
    const auto model = document.root().find("model");
    PAL_TRY(format, parse_format_name(named ? named->string() : "openai_chat"));
    PAL_TRY(messages, read_messages(format, make_bytes(call.preamble), Fingerprints::left_out));
    for (const Item& item : call.view.items) messages.push_back(item.message);
    return render(format, messages, {.model = model ? model->string() : std::string_view()});
}

void write_past_call(JsonWriter& out, const PastCall& call) {
    out.begin_object();
    out.key("seq").number(call.seq.value);
    out.field("at", format_time(call.at));
    out.key("note").raw(call.note);
    out.key("preamble").raw(call.preamble);
    out.key("tools").raw(call.tools);
    out.key("view");
    write_view(out, call.view);
    write_sent(out, sent_messages(call));
    out.end_object();
}

void write_checkpoint(JsonWriter& out, const Checkpoint& checkpoint) {
    out.begin_object().field("id", checkpoint.id);
    field(out, "seq", checkpoint.seq);
    field(out, "at", checkpoint.at);
    out.field("name", checkpoint.name);
    json_or_text(out.key("metadata"), checkpoint.metadata);
    out.end_object();
}

void write_compaction(JsonWriter& out, const Compaction& compaction) {
    out.begin_object().field("outcome", outcome_name(compaction.outcome)).key("seq");
    compaction.seq == Seq{} ? out.null() : out.number(compaction.seq.value);
    field(out, "tokens_before", compaction.tokens_before);
    field(out, "tokens_after", compaction.tokens_after);
    out.key("edits").begin_array();
    for (const Edit& edit : compaction.edits) write_edit(out, edit);
    out.end_array();
    write_report_fields(out, compaction.report);
    out.end_object();
}

void write_compaction_line(JsonWriter& out, const Compaction& compaction) {
    out.begin_object().field("outcome", outcome_name(compaction.outcome)).key("seq");
    compaction.seq == Seq{} ? out.null() : out.number(compaction.seq.value);
    field(out, "tokens_before", compaction.tokens_before);
    field(out, "tokens_after", compaction.tokens_after);
    field(out, "edits", std::uint64_t{compaction.edits.size()});
    write_report_fields(out, compaction.report);
    out.end_object();
}

void write_written(JsonWriter& out, const Written& written) {
    out.begin_object();
    field(out, "seq", written.last);
    field(out, "first", written.first);
    out.key("ids").begin_array();
    for (const std::string& id : written.ids) out.string(id);
    out.end_array().key("again").boolean(written.again).end_object();
}

void write_receipt(JsonWriter& out, const Receipt& receipt) {
    out.begin_object();
    field(out, "entries", receipt.entries);
    field(out, "logs", receipt.logs);
    out.key("kept_for").begin_array();
    for (const std::string& name : receipt.kept_for) out.string(name);
    out.end_array().key("remains").begin_array();
    for (const std::string& place : receipt.remains) out.string(place);
    // Memory::erase takes these with the entries, or fails.
    out.end_array().key("gone_with_it").begin_array();
    out.string("summaries, edits, checkpoints").string("words and vectors of the search index");
    out.end_array().end_object();
}

void write_check_report(JsonWriter& out, const CheckReport& report) {
    out.begin_object();
    field(out, "logs", report.logs);
    field(out, "entries", report.entries);
    field(out, "records", report.records);
    out.key("findings").begin_array();
    for (const Finding& finding : report.findings) {
        out.begin_object().field("what", finding.what).field("where", finding.where);
        out.field("message", finding.message).end_object();
    }
    out.end_array().end_object();
}

}  // namespace palimpsest
