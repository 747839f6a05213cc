// What commands read: numbers, ranges, pairs, files, and the standard input.
#include <sys/stat.h>
#include <unistd.h>
#include <charconv>

#include <fcntl.h>
#include <cerrno>
#include <cstring>

#include "base/json.h"
#include "cli/command.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

std::unexpected<Error> cannot_read(const std::string& file, int reason) {
    ErrorCode code = ErrorCode::unavailable;
    if (reason == ENOENT || reason == ENOTDIR) code = ErrorCode::not_found;
    if (reason == EACCES || reason == EPERM) code = ErrorCode::forbidden;
    if (reason == EISDIR) code = ErrorCode::invalid_request;
    return fail(code, "cannot read " + clipped(file, 200) + ": " + std::strerror(reason) +
                          "; check the name of the file");
}

Result<std::string> read_all(int descriptor, const std::string& file) {
    std::string text;
    char buffer[1u << 16];
    for (;;) {
        const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
        if (count == 0) return text;
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return cannot_read(file, errno);
        text.append(buffer, static_cast<std::size_t>(count));
        if (text.size() > json_max_bytes)
            return fail(ErrorCode::too_large, clipped(file, 200) + " is larger than " +
                                                  std::to_string(json_max_bytes >> 20) +
                                                  " MiB; split it");
    }
}

std::string words_of(const Part& part) {
    if (const auto* text = std::get_if<Text>(&part)) return std::string(text->text);
    if (const auto* call = std::get_if<ToolCall>(&part))
        return "[calls " + std::string(call->name) + " " + std::string(call->arguments) + "]";
    if (const auto* result = std::get_if<ToolResult>(&part))
        return "[result " + std::string(result->id) + "] " + std::string(result->text);
    if (const auto* reasoning = std::get_if<Reasoning>(&part))
        return "[thinks] " + std::string(reasoning->text);
    if (std::holds_alternative<Media>(part)) return "[media]";
    return "[other]";
}

}  // namespace

Result<Seq> parse_seq(std::string_view text) {
    PAL_TRY(value, parse_number(text, "SEQ"));
    if (value == 0)
        return fail(ErrorCode::invalid_request, "SEQ counts from 1; 0 names no entry", "SEQ");
    return Seq{value};
}

Result<Range> parse_range(std::string_view text) {
    const std::size_t dots = text.find("..");
    PAL_TRY(from, parse_seq(text.substr(0, dots)));
    if (dots == text.npos) return Range{from, from};
    PAL_TRY(to, parse_seq(text.substr(dots + 2)));
    if (to < from)
        return fail(ErrorCode::invalid_request,
                    "the range " + clipped(text, 60) + " ends before it begins", "SEQ");
    return Range{from, to};
}

std::vector<std::string> split_list(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        if (end > 0) parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

Result<std::uint64_t> parse_count(const Arguments& arguments, std::string_view flag,
                                  std::uint64_t otherwise, std::uint64_t most,
                                  std::uint64_t least) {
    const auto text = arguments.get(flag);
    if (!text) return otherwise;
    std::uint64_t number = 0;
    const auto read = std::from_chars(text->data(), text->data() + text->size(), number);
    const bool whole = read.ec == std::errc() && read.ptr == text->data() + text->size();
    if (whole && number >= least && number <= most) return number;
    return fail(ErrorCode::invalid_request,
                "--" + std::string(flag) + " takes a whole number from " + std::to_string(least) +
                    " to " + std::to_string(most),
                std::string(flag));
}

Result<std::map<std::string, std::string>> parse_pairs(const std::vector<std::string>& pairs) {
    std::map<std::string, std::string> fields;
    for (const std::string& pair : pairs) {
        const std::size_t equals = pair.find('=');
        if (equals == pair.npos || equals == 0)
            return fail(ErrorCode::invalid_request,
                        "--meta takes name=value, not \"" + clipped(pair, 60) + "\"", "--meta");
        fields[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    return fields;
}

Result<std::string> parse_metadata(const std::vector<std::string>& pairs) {
    PAL_TRY(fields, parse_pairs(pairs));
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    for (const auto& [name, value] : fields) json.field(name, value);
    json.end_object();
    return text;
}

Result<std::string> read_input(const std::string& file) {
    if (file == "-") return read_all(STDIN_FILENO, "the standard input");
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return cannot_read(file, errno);
    Result<std::string> text = read_all(descriptor, file);
    ::close(descriptor);
    return text;
}

std::string describe(const Message& message) {
    if (!message.raw) return "(content removed)";
    const Result<Parts> parts = read_parts(message);
    if (!parts) return std::string(view_of(message.raw));
    std::string text;
    for (const Part& part : parts->parts) {
        if (!text.empty()) text += ' ';
        text += words_of(part);
    }
    return text;
}

}  // namespace palimpsest
