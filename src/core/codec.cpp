#include "core/codec.h"

#include "base/wire.h"

namespace palimpsest {
namespace {

constexpr std::uint8_t version = 1, sealed_version = 2;

void put(WireWriter& out, const Range& range) {
    out.varint(range.from.value);
    out.varint(range.to.value);
}
void put(WireWriter& out, const Count& count) {
    out.varint(count.scheme);
    out.varint(count.tokens);
}
Range get_range(WireReader& in) {
    const Seq from{in.varint()};
    return {from, Seq{in.varint()}};
}
Count get_count(WireReader& in) {
    const auto scheme = static_cast<std::uint16_t>(in.varint());
    return {scheme, static_cast<std::uint32_t>(in.varint())};
}

// Ascending seqs as differences: a long list costs a byte or two for each.
void put(WireWriter& out, const std::vector<Seq>& seqs) {
    out.varint(seqs.size());
    Seq last{};
    for (const Seq seq : seqs) {
        out.varint(seq.value - last.value);
        last = seq;
    }
}
std::vector<Seq> get_seqs(WireReader& in) {
    std::vector<Seq> seqs(in.count(1));
    Seq last{};
    for (Seq& seq : seqs) seq = last = Seq{last.value + in.varint()};
    return seqs;
}

void put(WireWriter& out, const std::vector<std::string>& texts) {
    out.varint(texts.size());
    for (const std::string& text : texts) out.text(text);
}
std::vector<std::string> get_texts(WireReader& in) {
    std::vector<std::string> texts(in.count(1));
    for (std::string& text : texts) text = in.text();
    return texts;
}

void put(WireWriter& out, const Basis& basis) {
    out.varint(basis.upto.value);
    out.varint(basis.scheme);
    out.varint(basis.items.size());
    for (const BasisItem& item : basis.items) {
        put(out, item.range);
        out.byte(static_cast<std::uint8_t>(item.treatment));
        out.varint(item.by.value);
        out.varint(item.edit);
        out.varint(item.messages);
        out.varint(item.tokens);
    }
    put(out, basis.applied);
    put(out, basis.pinned);
}
Treatment get_treatment(WireReader& in, bool& known) {
    const std::uint8_t value = in.byte();
    known = known && value <= static_cast<std::uint8_t>(Treatment::dropped);
    return static_cast<Treatment>(value);
}
Basis get_basis(WireReader& in, bool& known) {
    Basis basis;
    basis.upto = Seq{in.varint()};
    basis.scheme = static_cast<std::uint16_t>(in.varint());
    basis.items.resize(in.count(7));
    for (BasisItem& item : basis.items) {
        item.range = get_range(in);
        item.treatment = get_treatment(in, known);
        item.by = Seq{in.varint()};
        item.edit = static_cast<std::uint32_t>(in.varint());
        item.messages = static_cast<std::uint32_t>(in.varint());
        item.tokens = in.varint();
    }
    basis.applied = get_seqs(in);
    basis.pinned = get_seqs(in);
    return basis;
}

// The payload of a compaction is its results, one after the other; meta has their lengths plus
// one, 0 standing for "no result".
void put(WireWriter& out, const Edit& edit) {
    out.byte(static_cast<std::uint8_t>(edit.treatment));
    put(out, edit.range);
    out.varint(edit.result ? edit.result->size() + 1 : 0);
    out.byte(static_cast<std::uint8_t>(edit.format));
    out.text(edit.reason);
    out.text(edit.pass);
    put(out, edit.before);
    put(out, edit.after);
    out.byte(edit.scrubbed ? 1 : 0);
}
Edit get_edit(WireReader& in, WireReader* payload, bool& known) {
    Edit edit;
    edit.treatment = get_treatment(in, known);
    edit.range = get_range(in);
    const std::uint64_t size = in.varint();
    if (size > 0 && payload) edit.result = make_bytes(std::string(payload->bytes(size - 1)));
    edit.format = static_cast<FormatId>(in.byte());
    edit.reason = in.text();
    edit.pass = in.text();
    edit.before = get_count(in);
    edit.after = get_count(in);
    edit.scrubbed = in.byte() != 0;
    return edit;
}

// ---- one pair of functions per kind ---------------------------------------------------------

Bytes write(WireWriter& out, const MessageEntry& entry) {
    const Message& message = entry.message;
    out.byte(static_cast<std::uint8_t>(message.format));
    out.byte(static_cast<std::uint8_t>(message.shape.role));
    out.byte(static_cast<std::uint8_t>((entry.interrupted ? 1 : 0) | (entry.scrubbed ? 2 : 0) |
                                       (message.shape.text ? 4 : 0) |
                                       (message.shape.reasoning ? 8 : 0)));
    out.varint(message.shape.media);
    put(out, message.shape.calls);
    put(out, message.shape.results);
    out.fixed64(message.fingerprint.low);
    out.fixed64(message.fingerprint.high);
    put(out, message.count);
    out.varint(entry.answers.value);
    return message.raw;
}
Body read_message_entry(WireReader& in, const Bytes& payload, bool& known) {
    MessageEntry entry;
    Message& message = entry.message;
    message.format = static_cast<FormatId>(in.byte());
    const std::uint8_t role = in.byte();
    known = known && role <= static_cast<std::uint8_t>(Role::other);
    message.shape.role = static_cast<Role>(role);
    const std::uint8_t flags = in.byte();
    entry.interrupted = flags & 1;
    entry.scrubbed = flags & 2;
    message.shape.text = flags & 4;
    message.shape.reasoning = flags & 8;
    message.shape.media = static_cast<std::uint16_t>(in.varint());
    message.shape.calls = get_texts(in);
    message.shape.results = get_texts(in);
    message.fingerprint.low = in.fixed64();
    message.fingerprint.high = in.fixed64();
    message.count = get_count(in);
    entry.answers = Seq{in.varint()};
    message.raw = payload;
    return entry;
}

Bytes write(WireWriter& out, const CompactionEntry& entry) {
    out.byte(static_cast<std::uint8_t>(entry.cause));
    out.text(entry.trigger);
    out.text(entry.policy);
    out.varint(entry.tokens_before);
    out.varint(entry.tokens_after);
    out.varint(entry.edits.size());
    std::string results;
    for (const Edit& edit : entry.edits) {
        put(out, edit);
        results += view_of(edit.result);
    }
    put(out, entry.basis);
    return make_bytes(std::move(results));
}
Body read_compaction(WireReader& in, const Bytes& payload, bool& known) {
    CompactionEntry entry;
    entry.cause = static_cast<Cause>(in.byte());
    entry.trigger = in.text();
    entry.policy = in.text();
    entry.tokens_before = in.varint();
    entry.tokens_after = in.varint();
    WireReader results(view_of(payload));
    entry.edits.resize(in.count(10));
    for (Edit& edit : entry.edits) edit = get_edit(in, payload ? &results : nullptr, known);
    entry.basis = get_basis(in, known);
    known = known && results.ok();
    return entry;
}

Bytes write(WireWriter& out, const PinEntry& entry) {
    put(out, entry.targets);
    out.byte(entry.on ? 1 : 0);
    put(out, entry.basis);
    return nullptr;
}
Body read_pin(WireReader& in, const Bytes&, bool& known) {
    PinEntry entry;
    entry.targets = get_seqs(in);
    entry.on = in.byte() != 0;
    entry.basis = get_basis(in, known);
    return entry;
}

Bytes write(WireWriter& out, const RetractEntry& entry) {
    put(out, entry.range);
    put(out, entry.also);
    out.text(entry.reason);
    put(out, entry.basis);
    return nullptr;
}
Body read_retract(WireReader& in, const Bytes&, bool& known) {
    RetractEntry entry;
    entry.range = get_range(in);
    entry.also = get_seqs(in);
    entry.reason = in.text();
    entry.basis = get_basis(in, known);
    return entry;
}

Bytes write(WireWriter& out, const RewindEntry& entry) {
    out.varint(entry.to.value);
    out.varint(entry.upto.value);
    out.text(entry.reason);
    put(out, entry.basis);
    return nullptr;
}
Body read_rewind(WireReader& in, const Bytes&, bool& known) {
    RewindEntry entry;
    entry.to = Seq{in.varint()};
    entry.upto = Seq{in.varint()};
    entry.reason = in.text();
    entry.basis = get_basis(in, known);
    return entry;
}

Bytes write(WireWriter& out, const UndoEntry& entry) {
    out.varint(entry.target.value);
    out.varint(entry.root.value);
    put(out, entry.basis);
    return nullptr;
}
Body read_undo(WireReader& in, const Bytes&, bool& known) {
    UndoEntry entry;
    entry.target = Seq{in.varint()};
    entry.root = Seq{in.varint()};
    entry.basis = get_basis(in, known);
    return entry;
}

Bytes write(WireWriter& out, const CheckpointEntry& entry) {
    out.text(entry.name);
    out.text(entry.metadata);
    return nullptr;
}
Body read_checkpoint(WireReader& in, const Bytes&, bool&) {
    CheckpointEntry entry;
    entry.name = in.text();
    entry.metadata = in.text();
    return entry;
}

Bytes write(WireWriter& out, const NoteEntry& entry) {
    out.text(entry.kind);
    return entry.body;
}
Body read_note(WireReader& in, const Bytes& payload, bool&) {
    NoteEntry entry;
    entry.kind = in.text();
    entry.body = payload;
    return entry;
}

Bytes write(WireWriter& out, const SealedEntry& entry) {
    out.bytes(entry.meta);
    return entry.payload;
}

using ReadBody = Body (*)(WireReader&, const Bytes&, bool&);
constexpr ReadBody readers[entry_kind_count] = {
    read_message_entry, read_compaction, read_pin,        read_retract,
    read_rewind,        read_undo,       read_checkpoint, read_note,
};

}  // namespace

EncodedBody encode_body(const Body& body) {
    WireWriter out;
    out.byte(std::holds_alternative<SealedEntry>(body) ? sealed_version : version);
    Bytes payload = std::visit([&](const auto& entry) { return write(out, entry); }, body);
    return {out.take(), std::move(payload)};
}

Result<Body> decode_body(EntryKind kind, std::string_view meta, const Bytes& payload) {
    if (static_cast<std::size_t>(kind) >= entry_kind_count)
        return fail(ErrorCode::internal, "an entry has a kind that this version does not know: " +
                                             std::to_string(static_cast<int>(kind)) +
                                             "; the store was written by a newer version");
    WireReader in(meta);
    const std::uint8_t found = in.byte();
    if (in.ok() && found == sealed_version)
        return SealedEntry{kind, std::string(in.bytes(in.left())), payload};
    if (in.ok() && found != version)
        return fail(ErrorCode::internal, "an entry has layout version " + std::to_string(found) +
                                             ", this program knows version 1; use a newer program");
    bool known = true;
    Body body = readers[static_cast<std::size_t>(kind)](in, payload, known);
    if (!known || !in.done())
        return fail(ErrorCode::internal, "an entry is damaged: its bytes do not decode");
    return body;
}

}  // namespace palimpsest
