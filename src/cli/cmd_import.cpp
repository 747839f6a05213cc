// import: conversations of our own export, entry by entry at their seqs, and those of other
// programs (files, PromptKit's folders, a Redis that PromptKit uses).
//
// What a file brings that has no place here is told; a file of our own that has lost or moved an
// entry is refused, since edits name entries by their seqs.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/exchange.h"
#include "core/codec.h"
#include "engine/foreign.h"
#include "store/copy_log.h"
#include "store/promptkit_redis.h"
#include "store/seal.h"

namespace palimpsest {
namespace {

namespace fs = std::filesystem;

constexpr Flag import_flag_table[] = {
    {"from", "KIND", "What it is; found out when it is not given. The kinds are below."},
    {"id", "ID", "The id it gets; default: its own, or the file's name."},
};

// The only conflict that an import can meet: it expects a conversation that has no end yet.
Error there_already(Error error) {
    if (error.code == ErrorCode::conflict)
        error.message = "it is there already, and was left as it is; --id gives it another id";
    return error;
}

// All that one call brings in: what fails is told, and the others come.
class Imports {
public:
    explicit Imports(Invocation& call) : call_(call) {}
    void expect_many() { many_ = true; }
    // Fails when it is the only one, or when the store cannot go on.
    Result<void> add(const std::string& what, const Result<std::string>& id) {
        ++count_;
        if (id) {
            call_.out.line(call_.json() ? json_string(*id) : printable(*id));
            return {};
        }
        const Error& error = id.error();
        if (!many_ || !is_of_one(error))
            return fail(error.code, what + ": " + error.message, error.param);
        ++failed_;
        std::fprintf(stderr, "pal: %s: not imported: %s\n", printable(what).c_str(),
                     printable(error.message).c_str());
        return {};
    }
    Result<int> end() const {
        if (failed_ == 0) return 0;
        return fail(ErrorCode::unprocessable, std::to_string(failed_) + " of " +
                                                  std::to_string(count_) +
                                                  " conversations were not imported");
    }

private:
    Invocation& call_;
    bool many_ = false;
    std::size_t count_ = 0, failed_ = 0;
};

// ---- our own lines ------------------------------------------------------------------------------

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
        // Damage of the file, not of ours.
        auto body = decode_body(known, bytes, payload);
        if (!body)
            return fail(ErrorCode::invalid_request,
                        "the meta of this entry is not that of a " + std::string(kind->string()) +
                            " as an export writes it: " + body.error().message,
                        "meta");
        PAL_TRY(time, parse_time(at->string()));
        return Draft{std::move(*body), time};
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
    // A preset stands there by its name.
    if (const auto policy = header.find("policy");
        policy && (policy->is_object() || policy->is_string()))
        patch.policy = std::string(policy->raw());
    if (const auto metadata = header.find("metadata"); metadata && metadata->is_object())
        patch.metadata_merge = std::string(metadata->raw());
    if (const auto ttl = header.find("ttl_ms"))
        if (const auto length = ttl->integer()) patch.ttl = Duration(*length);
    return patch;
}

Stamp stamp_of(const JsonValue& header) {
    const auto time = [&](std::string_view key) {
        const auto value = header.find(key);
        return value ? parse_time(value->string()).value_or(Time{}) : Time{};
    };
    return {time("created_at"), time("updated_at"), time("accessed_at")};
}

// What stands around a message in a line must not count as the message's own depth.
constexpr std::size_t line_depth_max = JsonLimits{}.depth + 8;

// An exported conversation, line by line.
class OwnReader {
public:
    explicit OwnReader(ConversationId name) : name_(std::move(name)) {}

    Result<void> add(std::string_view line) {
        PAL_TRY(document, parse_json(line, {.depth = line_depth_max}));
        if (const auto header = document.root().find("conversation")) return add_header(*header);
        const Seq expected{batch_.entries.size() + 1};
        const auto seq = document.root().find("seq");
        const auto found = seq ? seq->integer() : std::nullopt;
        if (!found || *found != std::int64_t(expected.value))
            return fail(ErrorCode::invalid_request,
                        "seq " + std::to_string(expected.value) + " is expected here, not " +
                            std::string(seq ? clipped(std::string(seq->raw()), 20) : "none") +
                            ": an export is imported whole, as it was written");
        PAL_TRY(entry, read_entry_line(document.root()));
        batch_.entries.push_back(std::move(entry));
        return {};
    }

    Result<std::string> import_into(Store& store) {
        if (end_ != batch_.entries.size())
            return fail(ErrorCode::invalid_request,
                        "it ends with seq " + std::to_string(batch_.entries.size()) + " of " +
                            std::to_string(end_) + ": the rest is missing");
        batch_.expected_end = Seq{};
        const auto written = store.append(name_, batch_);
        if (!written) return std::unexpected(there_already(written.error()));
        if (forked_) warn_of_losses(name_.id, {"that it is a fork: it has a log of its own now"});
        return name_.id;
    }

private:
    Result<void> add_header(JsonValue header) {
        const auto id = header.find("id"), seq = header.find("seq"), parent = header.find("parent");
        if (name_.id.empty() && id) name_.id = id->string();
        batch_.patch = patch_of(header);
        batch_.stamp = stamp_of(header);
        end_ = static_cast<std::size_t>(seq ? seq->integer().value_or(0) : 0);
        forked_ = parent && parent->is_object();
        return {};
    }

    ConversationId name_;
    Batch batch_ = {};
    std::size_t end_ = 0;
    bool forked_ = false;
};

Result<std::string> import_own(Invocation& call, std::string_view text) {
    OwnReader reader({call.settings.tenant, call.arguments.get("id").value_or("")});
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (line.empty()) continue;
        if (auto added = reader.add(line); !added)
            return fail(added.error().code,
                        "line " + std::to_string(number) + ": " + added.error().message);
    }
    return reader.import_into(call.memory->store());
}

// ---- others' ------------------------------------------------------------------------------------

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
    const auto written = call.memory->append(name, request);
    if (!written) return std::unexpected(there_already(written.error()));
    for (std::size_t i = 0; i < found.messages.size(); ++i)
        if (found.messages[i].pinned) PAL_CHECK(call.memory->pin(name, written->first + i));
    warn_of_losses(id, found.lost);
    return id;
}

// All that PromptKit has in a Redis.
Result<void> import_redis(Invocation& call, Imports& imports, const std::string& url) {
    if (call.arguments.get("id"))
        return fail(ErrorCode::invalid_request,
                    "all conversations of a Redis come with their own ids: leave --id out", "id");
    imports.expect_many();
    PAL_TRY(count, read_promptkit_redis(url, [&](const std::string& id, const std::string& state) {
                return imports.add(id, import_foreign(call, id, state, "promptkit"));
            }));
    if (count == 0)
        return fail(ErrorCode::not_found,
                    "there are no conversations of PromptKit in it; ?prefix=NAME if its keys do "
                    "not begin with promptkit");
    return {};
}

// ---- PromptKit's folders ------------------------------------------------------------------------

std::string read_whole(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The lines of a file as a list. A crash may have cut the last one off: its file is put in `torn`.
std::string list_of_lines(const fs::path& path, std::string& torn) {
    const std::string items = read_whole(path);
    std::string out = "[";
    for (std::size_t at = 0; at < items.size();) {
        const std::size_t end = std::min(items.find('\n', at), items.size());
        const std::string line = items.substr(at, end - at);
        if (end == items.size() && !parse_json(line))
            torn += (torn.empty() ? "" : ",") + json_string(path.filename().string());
        else if (!line.empty())
            out += (out.size() > 1 ? "," : "") + line;
        at = end + 1;
    }
    return out + "]";
}

// A folder of PromptKit: state.json, messages.jsonl, summaries.jsonl, lists/NAME.jsonl.
std::string text_of_folder(const fs::path& folder) {
    std::string torn, lists;
    std::error_code error;
    for (const auto& file : fs::directory_iterator(folder / "lists", error))
        lists += (lists.empty() ? "" : ",") + json_string(file.path().stem().string()) + ":" +
                 list_of_lines(file.path(), torn);
    const std::string messages = list_of_lines(folder / "messages.jsonl", torn);
    const std::string summaries = list_of_lines(folder / "summaries.jsonl", torn);
    return "{\"meta\":" + read_whole(folder / "state.json") + ",\"messages\":" + messages +
           ",\"summaries\":" + summaries + ",\"lists\":{" + lists + "},\"torn\":[" + torn + "]}";
}

// The folder of a conversation, or those in a folder of them.
std::vector<fs::path> conversations_in(const fs::path& folder) {
    std::error_code error;
    if (fs::exists(folder / "state.json", error)) return {folder};
    std::vector<fs::path> found;
    for (const auto& inner : fs::directory_iterator(folder, error))
        if (fs::exists(inner.path() / "state.json", error)) found.push_back(inner.path());
    std::ranges::sort(found);
    return found;
}

// ---- one argument -------------------------------------------------------------------------------

Result<void> import_folder(Invocation& call, Imports& imports, const std::string& folder) {
    const std::vector<fs::path> found = conversations_in(folder);
    if (found.empty())
        return fail(ErrorCode::not_found,
                    folder + " has no conversation of PromptKit: no state.json, no conv-ID");
    if (found.size() > 1 && call.arguments.get("id"))
        return fail(ErrorCode::invalid_request,
                    "all conversations of a folder come with their own ids: leave --id out", "id");
    if (found.size() > 1) imports.expect_many();
    for (const fs::path& one : found)
        PAL_CHECK(imports.add(
            one.string(), import_foreign(call, one.string(), text_of_folder(one), "promptkit")));
    return {};
}

Result<std::string> import_file(Invocation& call, const std::string& file) {
    PAL_TRY(text, read_input(file));
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
    if (text.starts_with("{\"palimpsest\":1")) return import_own(call, text);
    return import_foreign(call, file, text, call.arguments.get("from").value_or(""));
}

}  // namespace

void warn_of_losses(const std::string& what, const std::vector<std::string>& lost) {
    for (const std::string& line : lost)
        std::fprintf(stderr, "pal: %s: not carried: %s\n", printable(what).c_str(),
                     printable(line).c_str());
}

extern const Flags import_flags;
const Flags import_flags = import_flag_table;

Result<int> run_import(Invocation& call) {
    Imports imports(call);
    const std::vector<std::string> files = call.arguments.from(0);
    if (files.size() > 1) imports.expect_many();
    for (const std::string& file : files) {
        std::error_code error;
        if (is_redis_url(file))
            PAL_CHECK(import_redis(call, imports, file));
        else if (fs::is_directory(file, error))
            PAL_CHECK(import_folder(call, imports, file));
        else
            PAL_CHECK(imports.add(file, import_file(call, file)));
    }
    return imports.end();
}

}  // namespace palimpsest
