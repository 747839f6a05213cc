// export and import: a conversation as JSON Lines that anyone can read and that come back the same,
// or in the format of another program.
//
// Our own lines: the header as `{"palimpsest":1,"conversation":{…}}`, then every entry as `pal log
// --json` prints it, with `meta` (and `payload`, where the entry's bytes are not the message shown)
// in base64 as they are stored, so that nothing is lost on the way back.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/time.h"
#include "cli/command.h"
#include "core/codec.h"
#include "engine/foreign.h"
#include "engine/present.h"
#include "store/lineage.h"
#include "store/promptkit_redis.h"
#include "store/seal.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

constexpr Flag export_flag_table[] = {
    {"as", "KIND", "In another program's format; `pal help export` names them. [all of it]"},
};
constexpr Flag import_flag_table[] = {
    {"from", "KIND", "The program it comes from; found out when it is not given."},
    {"id", "ID", "The id it gets; default: its own, or the file's name."},
};

void warn_of_losses(const std::string& what, const std::vector<std::string>& lost) {
    for (const std::string& line : lost)
        std::fprintf(stderr, "pal: %s: not carried: %s\n", printable(what).c_str(),
                     printable(line).c_str());
}

// ---- our own lines ------------------------------------------------------------------------------

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

Result<Draft> read_entry_line(const JsonValue& line) {
    const auto kind = line.find("kind"), meta = line.find("meta"), at = line.find("at");
    if (!kind || !meta || !at)
        return fail(ErrorCode::invalid_request, "an entry needs kind, at and meta");
    for (std::size_t i = 0; i < entry_kind_count; ++i) {
        const auto known = static_cast<EntryKind>(i);
        if (entry_kind_name(known) != kind->string()) continue;
        PAL_TRY(bytes, from_base64(meta->string()));
        Bytes payload;
        if (const auto sealed = line.find("payload")) {
            PAL_TRY(plain, from_base64(sealed->string()));
            payload = make_bytes(plain);
        } else if (const auto message = line.find("message")) {
            payload = make_bytes(std::string(message->raw()));
        }
        PAL_TRY(body, decode_body(known, bytes, payload));
        PAL_TRY(time, parse_time(at->string()));
        return Draft{std::move(body), time};
    }
    return fail(ErrorCode::invalid_request, "there is no kind of entry like that", "kind");
}

HeaderPatch patch_of(const JsonValue& header) {
    HeaderPatch patch;
    const auto text = [&](std::string_view key) -> std::optional<std::string> {
        const auto value = header.find(key);
        if (!value || !value->is_string()) return std::nullopt;
        return std::string(value->string());
    };
    patch.owner = text("owner");
    patch.title = text("title");
    patch.system_prompt = text("system_prompt");
    if (const auto policy = header.find("policy"); policy && policy->is_object())
        patch.policy = std::string(policy->raw());
    if (const auto metadata = header.find("metadata"); metadata && metadata->is_object())
        patch.metadata_merge = std::string(metadata->raw());
    return patch;
}

Stamp stamp_of(const JsonValue& header) {
    const auto time = [&](std::string_view key) {
        const auto value = header.find(key);
        return value ? parse_time(value->string()).value_or(Time{}) : Time{};
    };
    return {time("created_at"), time("updated_at"), time("accessed_at")};
}

Result<std::string> import_own(Invocation& call, std::string_view text) {
    Batch batch;
    ConversationId name{call.settings.tenant, call.arguments.get("id").value_or("")};
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.empty()) continue;
        PAL_TRY(document, parse_json(line));
        if (const auto header = document.root().find("conversation")) {
            const auto id = header->find("id");
            if (name.id.empty() && id) name.id = id->string();
            batch.patch = patch_of(*header);
            batch.stamp = stamp_of(*header);
            continue;
        }
        auto entry = read_entry_line(document.root());
        if (!entry)
            return fail(entry.error().code,
                        "line " + std::to_string(number) + ": " + entry.error().message);
        batch.entries.push_back(std::move(*entry));
    }
    batch.expected_end = Seq{};
    PAL_CHECK(call.memory->store().append(name, batch));
    return name.id;
}

// ---- others' ------------------------------------------------------------------------------------

std::string read_whole(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A folder of PromptKit: state.json, messages.jsonl, summaries.jsonl.
std::string text_of_folder(const fs::path& folder) {
    const auto list = [&](const char* name) {
        std::string items = read_whole(folder / name);
        std::string out = "[";
        for (std::size_t at = 0; at < items.size();) {
            const std::size_t end = std::min(items.find('\n', at), items.size());
            if (end > at) out += (out.size() > 1 ? "," : "") + items.substr(at, end - at);
            at = end + 1;
        }
        return out + "]";
    };
    return "{\"meta\":" + read_whole(folder / "state.json") +
           ",\"messages\":" + list("messages.jsonl") + ",\"summaries\":" + list("summaries.jsonl") +
           "}";
}

Result<std::string> import_foreign(Invocation& call, const std::string& file,
                                   const std::string& text, const std::string& from) {
    PAL_TRY(found, read_foreign(from, text));
    std::string id = call.arguments.get("id").value_or(found.id);
    if (id.empty()) id = fs::path(file).stem().string();
    std::string list = "[";
    for (const ForeignMessage& message : found.messages) {
        list += list.size() > 1 ? "," : "";
        if (message.at)
            list += "{\"at\":" + json_string(format_time(*message.at)) +
                    ",\"message\":" + message.json + "}";
        else
            list += message.json;
    }
    HeaderPatch patch{.metadata_merge = found.metadata};
    if (!found.owner.empty()) patch.owner = found.owner;
    if (!found.title.empty()) patch.title = found.title;
    if (!found.system_prompt.empty()) patch.system_prompt = found.system_prompt;
    const ConversationId name{call.settings.tenant, id};
    list += "]";
    AppendRequest request;  // Field by field: g++ 12 warns falsely about the whole at once.
    request.messages = list;
    request.format = found.format;
    request.write.expected_end = Seq{};
    request.header = patch;
    PAL_TRY(written, call.memory->append(name, request));
    for (std::size_t i = 0; i < found.messages.size(); ++i)
        if (found.messages[i].pinned) PAL_CHECK(call.memory->pin(name, written.first + i));
    warn_of_losses(id, found.lost);
    return id;
}

// All that PromptKit has in a Redis. One that is there already, or that cannot be read, is told of
// and left out; the others come.
Result<void> import_redis(Invocation& call, const std::string& url) {
    if (call.arguments.get("id"))
        return fail(ErrorCode::invalid_request,
                    "all conversations of a Redis come with their own ids: leave --id out", "id");
    std::size_t failed = 0;
    PAL_TRY(count, read_promptkit_redis(url, [&](const std::string& id, const std::string& state) {
                const auto done = import_foreign(call, id, state, "promptkit");
                if (done) call.out.line(call.json() ? json_string(*done) : printable(*done));
                if (!done)
                    std::fprintf(stderr, "pal: %s: not imported: %s\n", printable(id).c_str(),
                                 printable(done.error().message).c_str());
                failed += done ? 0 : 1;
                return Result<void>{};
            }));
    if (count == 0)
        return fail(ErrorCode::not_found,
                    "there are no conversations of PromptKit in it; ?prefix=NAME if its keys do "
                    "not begin with promptkit");
    if (failed > 0)
        return fail(ErrorCode::unprocessable, std::to_string(failed) + " of " +
                                                  std::to_string(count) +
                                                  " conversations were not imported");
    return {};
}

Result<ForeignSource> source_of(Invocation& call) {
    PAL_TRY(header, call.memory->head(call.name()));
    PAL_TRY(entries,
            read_lineage(call.memory->store(), header, {.kinds = only(EntryKind::message)}));
    PAL_TRY(edit, newest_entry(call.memory->store(), header, basis_kinds, header.end));
    const Basis* basis = edit ? basis_of(edit->body) : nullptr;
    ForeignSource source{.header = header};
    for (Entry& entry : entries) {
        source.times.push_back(entry.at);
        source.pinned.push_back(basis &&
                                std::ranges::find(basis->pinned, entry.seq) != basis->pinned.end());
        source.messages.push_back(std::get<MessageEntry>(entry.body).message);
    }
    return source;
}

}  // namespace

extern const Flags export_flags, import_flags;
const Flags export_flags = export_flag_table;
const Flags import_flags = import_flag_table;

Result<int> run_export(Invocation& call) {
    if (const auto kind = call.arguments.get("as")) {
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

Result<int> run_import(Invocation& call) {
    for (const std::string& file : call.arguments.from(0)) {
        if (file.starts_with("redis://") || file.starts_with("rediss://")) {
            PAL_CHECK(import_redis(call, file));
            continue;
        }
        std::error_code error;
        std::string text;
        if (fs::is_directory(file, error)) {
            text = text_of_folder(file);
        } else {
            PAL_TRY(read, read_input(file));
            text = std::move(read);
        }
        const bool ours = text.starts_with("{\"palimpsest\":1");
        auto id = ours ? import_own(call, text)
                       : import_foreign(call, file, text, call.arguments.get("from").value_or(""));
        if (!id) {
            id.error().message = file + ": " + id.error().message;
            return std::unexpected(id.error());
        }
        call.out.line(call.json() ? json_string(*id) : printable(*id));
    }
    return 0;
}

}  // namespace palimpsest
