#include "cli/documents.h"

#include <algorithm>

#include "base/json.h"

namespace palimpsest {
namespace {

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == text.npos;
}

std::vector<InputDocument> lines_of(std::string_view text) {
    std::vector<InputDocument> documents;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (!is_blank(text.substr(0, end))) documents.push_back({number, text.substr(0, end)});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return documents;
}

bool are_documents(const std::vector<InputDocument>& lines, std::string_view text) {
    if (lines.size() < 2) return false;
    if (parse_json(lines.front().json)) return true;
    if (parse_json(text)) return false;
    return std::ranges::any_of(lines, [](const InputDocument& line) {
        const auto read = parse_json(line.json);
        return read && (read->root().is_object() || read->root().is_array());
    });
}

}  // namespace

std::vector<InputDocument> split_documents(std::string_view text, bool lines) {
    std::vector<InputDocument> each = lines_of(text);
    if (lines || are_documents(each, text)) return each;
    return {{0, text}};
}

Result<void> prepare_document(Invocation& call) {
    PAL_TRY(text, read_input(call.arguments.size() > 0 ? call.arguments[0] : "-"));
    call.input = std::move(text);
    return {};
}

void print_document(Output& out, std::string json) {
    if (out.is_terminal()) return out.json_line(std::move(json));
    out.write(json);
    if (!json.ends_with('\n')) out.write("\n");
}

Result<FormatId> format_flag(const Arguments& arguments, std::string_view flag) {
    const auto name = arguments.get(flag);
    if (!name)
        return fail(
            ErrorCode::invalid_request,
            "--" + std::string(flag) + " must be given: openai_chat, openai_responses or anthropic",
            std::string(flag));
    return parse_format_name(*name);
}

}  // namespace palimpsest
