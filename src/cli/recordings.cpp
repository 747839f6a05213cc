#include "cli/recordings.h"

#include "base/json.h"
#include "cli/documents.h"
#include "format/format_table.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

constexpr std::size_t message_bytes_max = std::size_t{64} << 20;

// The first line of an export.
std::optional<JsonValue> exported_header(JsonValue root) {
    return root.find("palimpsest") ? root.find("conversation") : std::nullopt;
}

// A line of a log, whatever it holds.
bool is_entry(JsonValue root) {
    return root.find("seq") && root.find("kind");
}

class Reader {
public:
    Reader(FormatId format, const Tokenizer& tokenizer) : format_(format), tokenizer_(tokenizer) {}

    Result<void> add(std::string_view json) {
        PAL_TRY(document, parse_json(json));
        const JsonValue root = document.root();
        if (const auto header = exported_header(root)) return begin(*header);
        if (is_entry(root)) return add_entry(root);
        const bool whole = root.is_array() || find_body_list(format_of(format_), root);
        if (!whole) return go_on(json, format_);
        PAL_TRY(said, read_said(json, format_, tokenizer_, message_bytes_max));
        recordings_.push_back({std::move(said), std::string(json)});
        goes_on_ = false;
        return {};
    }
    std::vector<Recording> take() { return std::move(recordings_); }

private:
    Result<void> begin(JsonValue header) {
        recordings_.emplace_back();
        goes_on_ = true;
        const auto prompt = header.find("system_prompt");
        if (!prompt || prompt->string().empty()) return {};
        PAL_TRY(system, make_message(FormatId::openai_chat, Role::system, prompt->string()));
        return go_on(view_of(system.raw), FormatId::openai_chat);
    }

    Result<void> add_entry(JsonValue entry) {
        const auto message = entry.find("message"), format = entry.find("format"),
                   at = entry.find("at");
        if (entry.find("kind")->string() != "message" || !message) return {};
        PAL_TRY(own, format ? parse_format_name(format->string()) : Result<FormatId>(format_));
        const std::string time = at ? R"("at":)" + std::string(at->raw()) + "," : "";
        return go_on("{" + time + R"("message":)" + std::string(message->raw()) + "}", own);
    }

    Result<void> go_on(std::string_view json, FormatId format) {
        PAL_TRY(said, read_said(json, format, tokenizer_, message_bytes_max));
        if (!goes_on_) recordings_.emplace_back();
        goes_on_ = true;
        for (Said& one : said) recordings_.back().said.push_back(std::move(one));
        return {};
    }

    const FormatId format_;
    const Tokenizer& tokenizer_;
    std::vector<Recording> recordings_;
    bool goes_on_ = false;  // A line with one message belongs to the last recording.
};

}  // namespace

Result<std::vector<Recording>> read_recordings(std::string_view text, FormatId format,
                                               const Tokenizer& tokenizer) {
    if (text.find_first_not_of(" \t\r\n") == text.npos) return std::vector<Recording>();
    Reader reader(format, tokenizer);
    for (const InputDocument& document : split_documents(text, false)) {
        auto added = reader.add(document.json);
        if (added) continue;
        Error error = std::move(added).error();
        error.message = document.place() + error.message;
        return std::unexpected(std::move(error));
    }
    return reader.take();
}

}  // namespace palimpsest
