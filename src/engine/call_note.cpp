#include "engine/call_note.h"

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "base/json_write.h"
#include "palimpsest/format.h"
#include "store/lineage.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr std::size_t texts_max = 8;  // how many distinct values the next note can refer to
constexpr std::size_t notes_looked_at = 8;
constexpr std::size_t notes_looked_at_max = 512;  // where the newest calls were refused
constexpr std::size_t writers_max = 64;           // what is older was written by one that nobody is
constexpr std::string_view several = "*";
constexpr std::size_t note_bytes = 256;  // that most notes fit

std::string hash_of(std::string_view text) {
    const Fingerprint print = hash_bytes(text);
    return fmt::format("{:016x}{:016x}", print.high, print.low);
}

std::string preamble_json(std::span<const Message> preamble) {
    std::string out;
    JsonWriter writer(out);
    writer.begin_array();
    for (const Message& message : preamble) writer.raw(*message.raw);
    writer.end_array();
    return out;
}

// What a call note says that the next one can refer to.
Result<CallTexts> texts_in(const Entry& call) {
    CallTexts texts;
    PAL_TRY(document, parse_json(view_of(std::get<NoteEntry>(call.body).body)));
    const auto list = document.root().find("texts");
    if (!list) return texts;
    for (const JsonValue text : list->elements()) {
        const auto hash = text.find("hash");
        const auto seq = text.find("seq");
        const auto back = text.find("back");
        if (!hash || (!seq && !back)) continue;
        const auto number = static_cast<std::uint64_t>((seq ? seq : back)->integer().value_or(0));
        texts.push_back({std::string(hash->string()), seq ? Seq{number} : call.seq - number, 0});
    }
    return texts;
}

Writers writers_in(JsonValue note) {
    Writers writers;
    const auto list = note.find("writers");
    if (!list) return writers;
    for (const JsonValue writer : list->elements()) {
        const auto from = writer.find("from"), model = writer.find("model");
        if (from && model)
            writers.push_back({Seq{static_cast<std::uint64_t>(from->integer().value_or(0))},
                               std::string(model->string())});
    }
    return writers;
}

void write_writers(JsonWriter& out, const Writers& writers) {
    out.key("writers").begin_array();
    for (const auto& [from, model] : writers) {
        out.begin_object().key("from").number(from.value);
        out.field("model", model).end_object();
    }
    out.end_array();
}

// Where the text stands: known already, or added to the batch. The newest used comes first.
void use_text(std::string text, CallTexts& texts, std::vector<Draft>& drafts) {
    const std::string hash = hash_of(text);
    const auto known = std::find_if(texts.begin(), texts.end(),
                                    [&](const TextRef& ref) { return ref.hash == hash; });
    TextRef ref{hash, {}, drafts.size()};
    if (known != texts.end()) {
        ref = *known;
        texts.erase(known);
    } else {
        drafts.push_back({NoteEntry{"text", make_bytes(std::move(text))}, {}});
    }
    texts.insert(texts.begin(), ref);
}

void write_ref(JsonWriter& writer, const TextRef& ref, std::size_t note_draft) {
    writer.begin_object().field("hash", ref.hash);
    if (ref.seq == Seq{})
        writer.key("back").number(std::uint64_t{note_draft - ref.draft});
    else
        writer.key("seq").number(ref.seq.value);
    writer.end_object();
}

Result<std::string> read_text(Store& store, const Header& header, const Entry& note,
                              const std::optional<JsonValue>& ref) {
    if (!ref || !ref->is_object()) return std::string("[]");
    const auto seq = ref->find("seq");
    const auto back = ref->find("back");
    const auto number = static_cast<std::uint64_t>((seq ? seq : back)->integer().value_or(0));
    PAL_TRY(entry, read_entry(store, header, seq ? Seq{number} : note.seq - number));
    const auto* text = std::get_if<NoteEntry>(&entry.body);
    if (!text || text->kind != "text")
        return fail(ErrorCode::internal, "the note at seq " + std::to_string(note.seq.value) +
                                             " names a text that is not there; run `pal doctor`");
    return std::string(view_of(text->body));
}

Result<void> read_newest(const Entry& call, CallState& state) {
    PAL_TRY(texts, texts_in(call));
    state.texts = std::move(texts);
    PAL_TRY(document, parse_json(view_of(std::get<NoteEntry>(call.body).body)));
    state.writers = writers_in(document.root());
    if (const auto injected = document.root().find("injected"))
        state.injected = read_source(*injected);
    state.last = call.seq;
    state.last_at = call.at;
    return {};
}

struct ToldCalls {
    CallState state = {};
    bool only_refused = false;  // what was reported last can stand further back
};

// From notes, the newest first, up to the newest call that was sent: what was reported for it is
// in force also behind calls that were refused.
Result<ToldCalls> calls_told_by(const std::vector<Entry>& notes, Seq basis) {
    ToldCalls told;
    CallState& state = told.state;
    for (const Entry& entry : notes) {
        const auto& note = std::get<NoteEntry>(entry.body);
        const auto usage = read_usage_note(note);
        const std::uint64_t tokens = usage ? usage->input + usage->output : 0;
        if (tokens > 0 && entry.seq > basis && !state.reported_tokens) {
            state.reported_tokens = tokens;
            state.usage = *usage;
        }
        if (note.kind != "call") continue;
        if (state.last == Seq{}) PAL_CHECK(read_newest(entry, state));
        if (was_sent(note)) return told;
    }
    told.only_refused = state.last != Seq{} && !state.reported_tokens;
    return told;
}

}  // namespace

void note_writer(Writers& writers, Seq from, std::string_view model) {
    const std::string_view last = writers.empty() ? std::string_view() : writers.back().model;
    if (last == model) return;
    writers.push_back({from, std::string(model)});
    if (writers.size() <= writers_max) return;
    // Half of them at once: each time what is sent of the past changes.
    writers.erase(writers.begin(), writers.begin() + writers_max / 2);
    writers.front().model = several;
}

std::vector<Range> of_other_writers(const Writers& writers) {
    std::vector<Range> ranges;
    if (writers.empty() || writers.back().model.empty()) return ranges;
    for (std::size_t i = 0; i + 1 < writers.size(); ++i)
        if (!writers[i].model.empty() && writers[i].model != writers.back().model)
            ranges.push_back({writers[i].from, writers[i + 1].from - 1});
    return ranges;
}

Result<CallState> read_calls(Store& store, const Header& header, Seq upto) {
    if (header.log.empty() || upto == Seq{}) return CallState{};
    for (std::size_t limit = notes_looked_at;; limit *= 8) {
        PAL_TRY(notes, read_lineage(store, header,
                                    {.ranges = {{Seq{1}, upto}},
                                     .kinds = only(EntryKind::note),
                                     .limit = limit,
                                     .newest_first = true}));
        PAL_TRY(told, calls_told_by(notes, header.basis));
        const bool is_all = notes.size() < limit || limit >= notes_looked_at_max;
        if (is_all || !told.only_refused) return std::move(told.state);
    }
}

Seq noted_turn(const std::vector<Entry>& entries) {
    Seq turn;
    for (const Entry& entry : entries) {
        const auto* note = std::get_if<NoteEntry>(&entry.body);
        const auto body = note && note->kind == "call" ? parse_json(view_of(note->body))
                                                       : Result<JsonDocument>(fail({}, ""));
        const auto value = body ? body->root().find("turn") : std::nullopt;
        const auto number = value ? value->integer() : std::nullopt;
        if (number) turn = Seq{static_cast<std::uint64_t>(*number)};
    }
    return turn;
}

bool was_sent(const NoteEntry& note) {
    if (note.kind != "call") return false;
    const auto body = parse_json(view_of(note.body));
    return body && !body->root().find("refused");
}

void add_call_note(const BeginRequest& request, std::span<const Message> preamble, CallKind kind,
                   CallState& calls, std::vector<Draft>& drafts) {
    CallTexts& texts = calls.texts;
    const bool has_tools = !request.tools.empty() && request.tools != "[]";
    std::optional<TextRef> preamble_ref, tools_ref;
    if (!preamble.empty()) {
        use_text(preamble_json(preamble), texts, drafts);
        preamble_ref = texts.front();
    }
    if (has_tools) {
        use_text(request.tools, texts, drafts);
        tools_ref = texts.front();
    }
    if (texts.size() > texts_max) texts.resize(texts_max);
    std::string body;
    body.reserve(note_bytes);
    JsonWriter writer(body);
    const std::size_t note_draft = drafts.size();
    const auto write = [&](std::string_view key, const std::optional<TextRef>& ref) {
        writer.key(key);
        if (ref)
            write_ref(writer, *ref, note_draft);
        else
            writer.null();
    };
    writer.begin_object().field("model", request.model);
    writer.key("parameters").raw(request.parameters.empty() ? "{}" : request.parameters);
    writer.field("format", format_name(request.format));
    write("preamble", preamble_ref);
    write("tools", tools_ref);
    writer.key("texts").begin_array();
    for (const TextRef& ref : texts) write_ref(writer, ref, note_draft);
    writer.end_array();
    if (!calls.writers.empty()) write_writers(writer, calls.writers);
    if (calls.injected) write_source(writer.key("injected"), *calls.injected);
    if (kind.turn != Seq{}) writer.key("turn").number(kind.turn.value);
    if (kind.refused) writer.key("refused").boolean(true);
    if (!request.digest.empty())
        writer.field("digest", request.digest).field("key", request.write.key);
    writer.end_object();
    drafts.push_back({NoteEntry{"call", make_bytes(std::move(body))}, {}});
}

void settle_texts(CallTexts& texts, Seq first) {
    for (TextRef& text : texts)
        if (text.seq == Seq{}) text.seq = first + text.draft;
}

static void write_counts(JsonWriter& writer, const Usage& usage) {
    writer.key("input").number(usage.input);
    writer.key("cached").number(usage.cached);
    writer.key("cache_writes").number(usage.cache_writes);
    writer.key("output").number(usage.output);
    writer.key("reasoning").number(usage.reasoning);
}

NoteEntry usage_note(const Answer& answer, std::string_view model, Seq call,
                     std::optional<double> cost) {
    std::string body;
    body.reserve(note_bytes);
    JsonWriter writer(body);
    writer.begin_object();
    writer.key("call").number(call.value);
    if (!model.empty()) writer.field("model", model);
    // A model that tells no usage has not used nothing.
    const bool told = answer.usage.input + answer.usage.output > 0;
    if (told) write_counts(writer, answer.usage);
    writer.key("interrupted").boolean(answer.interrupted);
    if (told && cost) writer.key("cost").number(*cost);
    writer.end_object();
    return {"usage", make_bytes(std::move(body))};
}

std::optional<Usage> read_usage_note(const NoteEntry& note) {
    const auto document = parse_json(view_of(note.body));
    if (note.kind != "usage" || !document) return std::nullopt;
    const auto number = [&](std::string_view field) -> std::uint64_t {
        const auto value = document->root().find(field);
        return value ? static_cast<std::uint64_t>(value->integer().value_or(0)) : 0;
    };
    return Usage{.input = number("input"),
                 .cached = number("cached"),
                 .cache_writes = number("cache_writes"),
                 .output = number("output"),
                 .reasoning = number("reasoning")};
}

Result<PastCall> read_call_note(Store& store, const Header& header, const Entry& entry) {
    const auto* note = std::get_if<NoteEntry>(&entry.body);
    if (!note || note->kind != "call")
        return fail(ErrorCode::unprocessable,
                    "seq " + std::to_string(entry.seq.value) +
                        " is not the note of a model call; `pal log --kind note` lists them",
                    "seq");
    PAL_TRY(document, parse_json(view_of(note->body)));
    PastCall call;
    call.seq = entry.seq;
    call.at = entry.at;
    call.note = view_of(note->body);
    PAL_TRY(preamble, read_text(store, header, entry, document.root().find("preamble")));
    PAL_TRY(tools, read_text(store, header, entry, document.root().find("tools")));
    const auto injected = document.root().find("injected");
    const auto source = injected ? read_source(*injected) : std::nullopt;
    const auto format = document.root().find("format");
    if (source && format) {
        PAL_TRY(known, parse_format_name(format->string()));
        PAL_TRY(message, read_source_message(store, *source, known));
        if (message) {
            preamble.pop_back();
            preamble += (preamble.size() > 1 ? "," : "") + std::string(view_of(message->raw)) + "]";
        }
    }
    call.preamble = std::move(preamble);
    call.tools = std::move(tools);
    return call;
}

}  // namespace palimpsest
