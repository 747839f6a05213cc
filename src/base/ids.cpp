#include "base/ids.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace palimpsest {

namespace {

bool has_dot_part(std::string_view id) {
    for (;;) {
        const std::size_t slash = id.find_first_of("/\\");
        const std::string_view part = id.substr(0, slash);
        if (part == "." || part == "..") return true;
        if (slash == std::string_view::npos) return false;
        id.remove_prefix(slash + 1);
    }
}

}  // namespace

bool stands_for_broken_text(std::string_view text) {
    return text.contains("\xef\xbf\xbd");
}

Result<void> check_id(std::string_view id, std::string_view what) {
    const auto refuse = [&](std::string_view why) {
        return fail(ErrorCode::invalid_request,
                    std::string(what) + " " + std::string(why) +
                        "; use 1 to 255 bytes of UTF-8 without control characters",
                    std::string(what));
    };
    if (id.empty()) return refuse("is empty");
    if (id.size() > id_bytes_max) return refuse("has " + std::to_string(id.size()) + " bytes");
    // Nearly all ids are plain: what follows is for the others.
    const auto is_plain = [](char c) { return c > 0x20 && c < 0x7f && c != '/' && c != '\\'; };
    if (id.front() != '.' && std::all_of(id.begin(), id.end(), is_plain)) return {};
    if (has_dot_part(id)) return refuse("has a part \".\" or \"..\"");
    for (std::size_t i = 0; i < id.size(); ++i) {
        const auto c = static_cast<unsigned char>(id[i]);
        const bool high =
            c == 0xc2 && i + 1 < id.size() && static_cast<unsigned char>(id[i + 1]) < 0xa0;
        if (c < 0x20 || c == 0x7f || high) return refuse("has a control character");
    }
    if (!is_utf8(id)) return refuse("is not valid UTF-8");
    if (stands_for_broken_text(id))
        return refuse("has U+FFFD, which stands for text that was broken");
    return {};
}

Result<void> check_name(const ConversationId& name) {
    PAL_CHECK(check_id(name.tenant, "tenant"));
    return check_id(name.id, "conversation_id");
}

std::string hex(const LogId& log) {
    constexpr char digits[] = "0123456789abcdef";
    std::string out(2 * log.bytes.size(), '\0');
    for (std::size_t i = 0; i < log.bytes.size(); ++i) {
        out[2 * i] = digits[log.bytes[i] >> 4];
        out[2 * i + 1] = digits[log.bytes[i] & 15];
    }
    return out;
}

std::optional<LogId> parse_log_id(std::string_view text) {
    LogId log;
    if (text.size() != 2 * log.bytes.size()) return std::nullopt;
    for (std::size_t i = 0; i < log.bytes.size(); ++i) {
        const char* first = text.data() + 2 * i;
        const auto [end, error] = std::from_chars(first, first + 2, log.bytes[i], 16);
        if (error != std::errc() || end != first + 2) return std::nullopt;
    }
    return log;
}

std::string position_id(std::string_view prefix, const LogId& log, Seq seq) {
    return std::string(prefix) + hex(log) + std::to_string(seq.value);
}

std::optional<Position> parse_position_id(std::string_view prefix, std::string_view id) {
    if (!id.starts_with(prefix) || id.size() <= prefix.size() + 32) return std::nullopt;
    const auto log = parse_log_id(id.substr(prefix.size(), 32));
    const std::string_view number = id.substr(prefix.size() + 32);
    Seq seq;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), seq.value);
    if (!log || error != std::errc() || end != number.data() + number.size() ||
        number.starts_with('0'))
        return std::nullopt;
    return Position{*log, seq};
}

}  // namespace palimpsest
