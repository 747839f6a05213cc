#include "format/check.h"

#include <algorithm>

#include "base/utf8.h"

namespace palimpsest {

void Findings::add(std::string_view rule, std::size_t at, std::string message) {
    const Rule* row = find_rule(rule);
    violations_.push_back(
        {row ? row->id : rule, at, std::move(message), row ? row->severity : Severity::reject});
}

std::vector<Violation> Findings::take() {
    std::stable_sort(violations_.begin(), violations_.end(),
                     [](const Violation& a, const Violation& b) { return a.at < b.at; });
    return std::move(violations_);
}

std::string quoted(std::string_view text) {
    return '"' + std::string(utf8_prefix(text, 80)) + (text.size() > 80 ? "...\"" : "\"");
}

void check_known_role(const NeutralMessage& message, std::size_t at, Findings& findings) {
    if (message.role != Role::other) return;
    findings.add("roles", at,
                 "the role " + quoted(message.role_text) +
                     " is unknown: use system, user, "
                     "assistant or tool, or leave the message out");
}

void check_arguments(const NeutralMessage& message, std::size_t at, Findings& findings) {
    for (const NeutralPart& part : message.parts) {
        if (!is_function_call(part) || part.custom) continue;
        const auto document = parse_json(part.arguments);
        if (document && document->root().is_object()) continue;
        findings.add(
            "arguments", at,
            "the arguments of call " + quoted(part.id) + " are not a JSON object: " +
                (document ? "they are a " + std::string(json_kind_name(document->root().kind()))
                          : document.error().message));
    }
}

std::size_t base64_bytes(std::string_view text) {
    while (text.ends_with('=')) text.remove_suffix(1);
    return text.size() / 4 * 3 + (text.size() % 4 * 3) / 4;
}

namespace {

constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string decode_base64(std::string_view text) {
    std::string out;
    unsigned bits = 0, count = 0;
    for (const char c : text) {
        const std::size_t value = base64_letters.find(c);
        if (value == std::string_view::npos) break;
        bits = (bits << 6) | static_cast<unsigned>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out += static_cast<char>((bits >> count) & 0xffU);
    }
    return out;
}

std::uint32_t big_endian(std::string_view bytes, std::size_t at, std::size_t count) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
        value = (value << 8) | static_cast<unsigned char>(bytes[at + i]);
    return value;
}

// Walks the segments to the start of frame, which holds the size.
std::optional<PixelSize> jpeg_size(std::string_view bytes) {
    std::size_t at = 2;
    while (at + 9 < bytes.size() && bytes[at] == '\xff') {
        const auto marker = static_cast<unsigned char>(bytes[at + 1]);
        const bool frame =
            marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
        if (frame) return PixelSize{big_endian(bytes, at + 7, 2), big_endian(bytes, at + 5, 2)};
        at += 2 + big_endian(bytes, at + 2, 2);
    }
    return std::nullopt;
}

}  // namespace

std::optional<PixelSize> image_size(std::string_view base64) {
    // 64 kB hold the header of every format, also that of a JPEG with a thumbnail before it.
    const std::string bytes = decode_base64(base64.substr(0, 87384));
    const auto low = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
    if (bytes.starts_with("\x89PNG\r\n") && bytes.size() >= 24)
        return PixelSize{big_endian(bytes, 16, 4), big_endian(bytes, 20, 4)};
    if (bytes.starts_with("GIF8") && bytes.size() >= 10)
        return PixelSize{low(6) + (low(7) * 256U), low(8) + (low(9) * 256U)};
    if (bytes.starts_with("\xff\xd8")) return jpeg_size(bytes);
    return std::nullopt;
}

}  // namespace palimpsest
