// export: a conversation as JSON Lines that anyone can read and that come back the same, or in the
// format of another program.
//
// Our own lines: the header as `{"palimpsest":1,"conversation":{…}}`, then every entry as `pal log
// --json` prints it, with `meta` (and `payload`, where the entry's bytes are not the message shown)
// in base64 as they are stored, so that nothing is lost on the way back.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/command.h"
#include "cli/exchange.h"
#include "core/codec.h"
#include "engine/foreign.h"
#include "engine/present.h"
#include "store/lineage.h"
#include "store/seal.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

constexpr Flag export_flag_table[] = {
    {"as", "KIND", "In another program's format; the kinds are below. [all of it]"},
    {"to", "PLACE", "With --as promptkit: a folder of its conversations, or redis://HOST:PORT/DB."},
};

std::string header_line(const Header& header) {
    std::string line = "{\"palimpsest\":1,\"conversation\":";
    JsonWriter out(line);
    write_header(out, header);
    return line + "}";
}

std::string entry_line(const Entry& entry) {
    const EncodedBody body = encode_body(entry.body);
    const auto* message = std::get_if<MessageEntry>(&entry.body);
    std::string line;
    JsonWriter out(line);
    write_entry(out, entry);
    line.pop_back();
    line += ",\"meta\":\"" + to_base64(body.meta) + "\"";
    const std::string_view payload = view_of(body.payload);
    const bool shown = message && payload.find('\n') == payload.npos;
    if (body.payload && !shown) line += ",\"payload\":\"" + to_base64(payload) + "\"";
    return line + "}";
}

// The view is not the whole log: something is left out or rewritten.
bool is_edited(const Basis& basis, const std::vector<Entry>& messages) {
    std::uint64_t shown = 0;
    for (const BasisItem& item : basis.items) {
        if (item.treatment != Treatment::verbatim) return true;
        shown += item.messages;
    }
    const auto covered = std::ranges::count_if(
        messages, [&](const Entry& entry) { return entry.seq <= basis.upto; });
    return shown < static_cast<std::uint64_t>(covered);
}

Result<ForeignSource> source_of(Invocation& call) {
    PAL_TRY(header, call.memory->head(call.name()));
    PAL_TRY(entries,
            read_lineage(call.memory->store(), header, {.kinds = only(EntryKind::message)}));
    PAL_TRY(edit, newest_entry(call.memory->store(), header, basis_kinds, header.end));
    const Basis* basis = edit ? basis_of(edit->body) : nullptr;
    ForeignSource source{.header = header, .edited = basis && is_edited(*basis, entries)};
    for (Entry& entry : entries) {
        source.times.push_back(entry.at);
        source.pinned.push_back(basis &&
                                std::ranges::find(basis->pinned, entry.seq) != basis->pinned.end());
        source.messages.push_back(std::get<MessageEntry>(entry.body).message);
    }
    return source;
}

// ---- PromptKit's own places ---------------------------------------------------------------------

Result<void> write_file(const fs::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (file) return {};
    return fail(ErrorCode::unavailable,
                path.string() + " cannot be written: " + std::strerror(errno));
}

// FOLDER/conv-ID with state.json and messages.jsonl.
Result<void> write_folder(const fs::path& root, const PromptkitState& state) {
    if (state.id.find('/') != std::string::npos)
        return fail(ErrorCode::invalid_request,
                    "PromptKit has no folder for an id with a slash: export it to a Redis");
    const fs::path folder = root / ("conv-" + state.id);
    std::error_code error;
    if (fs::exists(folder, error))
        return fail(ErrorCode::conflict, folder.string() + " is there already; remove it first");
    fs::create_directories(folder, error);
    if (error)
        return fail(ErrorCode::unavailable,
                    folder.string() + " cannot be made: " + error.message());
    std::string messages, head = state.meta;
    for (const std::string& message : state.messages) messages += message + "\n";
    head.pop_back();
    JsonWriter out(head += ",\"metadata\":");
    out.begin_object();
    for (const auto& [key, value] : state.metadata) out.key(key).raw(value);
    out.end_object();
    PAL_CHECK(write_file(folder / "messages.jsonl", messages));
    return write_file(folder / "state.json", head + "}");
}

Result<int> export_to(Invocation& call, const std::string& kind, const std::string& place) {
    if (!kind.starts_with("promptkit"))
        return fail(ErrorCode::invalid_request,
                    "--to is for --as promptkit; others are written to the standard output", "to");
    PAL_TRY(source, source_of(call));
    PAL_TRY(text, write_foreign(kind, source));
    std::vector<std::string> lost;
    PAL_TRY(state, promptkit_state(source, lost));
    PAL_CHECK(is_redis_url(place) ? write_promptkit_redis(place, state)
                                  : write_folder(place, state));
    warn_of_losses(call.arguments[0], text.lost);
    return 0;
}

}  // namespace

extern const Flags export_flags;
const Flags export_flags = export_flag_table;

Result<int> run_export(Invocation& call) {
    const auto kind = call.arguments.get("as"), place = call.arguments.get("to");
    if (place) return export_to(call, kind.value_or("promptkit"), *place);
    if (kind) {
        PAL_TRY(source, source_of(call));
        PAL_TRY(text, write_foreign(*kind, source));
        warn_of_losses(call.arguments[0], text.lost);
        call.out.write(text.text);
        if (!text.text.ends_with('\n')) call.out.write("\n");
        return 0;
    }
    Store& store = call.memory->store();
    PAL_TRY(header, call.memory->head(call.name()));
    call.out.json_line(header_line(header));
    constexpr std::uint64_t page = 256;
    for (Seq from{1}; from <= header.end && !call.out.closed(); from = from + page) {
        PAL_TRY(entries,
                read_lineage(store, header,
                             {.ranges = {{from, std::min(header.end, from + (page - 1))}}}));
        for (const Entry& entry : entries) call.out.json_line(entry_line(entry));
    }
    return 0;
}

}  // namespace palimpsest
