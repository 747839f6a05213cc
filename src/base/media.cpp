#include "base/media.h"

#include <algorithm>
#include <array>

namespace palimpsest {
namespace {

constexpr auto base64_values = [] {
    constexpr std::string_view letters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    std::array<std::uint8_t, 256> values{};
    values.fill(255);
    for (std::size_t i = 0; i < letters.size(); ++i)
        values[static_cast<unsigned char>(letters[i])] = static_cast<std::uint8_t>(i);
    values['+'] = values['-'] = 62;
    values['/'] = values['_'] = 63;
    return values;
}();

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

// The three kinds of WebP say it in three ways.
std::optional<PixelSize> webp_size(std::string_view bytes) {
    const auto low = [&](std::size_t at, std::size_t count) {
        std::uint32_t value = 0;
        for (std::size_t i = count; i-- > 0;)
            value = (value << 8) | static_cast<unsigned char>(bytes[at + i]);
        return value;
    };
    const std::string_view kind = bytes.substr(12, 4);
    if (kind == "VP8X") return PixelSize{low(24, 3) + 1, low(27, 3) + 1};
    if (kind == "VP8 ") return PixelSize{low(26, 2) & 0x3fffU, low(28, 2) & 0x3fffU};
    if (kind != "VP8L") return std::nullopt;
    return PixelSize{(low(21, 4) & 0x3fffU) + 1, (low(21, 4) >> 14 & 0x3fffU) + 1};
}

}  // namespace

std::string decode_base64(std::string_view text) {
    std::string out;
    unsigned bits = 0, count = 0;
    for (const char c : text) {
        const std::uint8_t value = base64_values[static_cast<unsigned char>(c)];
        if (value == 255) break;
        bits = (bits << 6) | value;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out += static_cast<char>((bits >> count) & 0xffU);
    }
    return out;
}

std::size_t base64_bytes(std::string_view text) {
    while (text.ends_with('=')) text.remove_suffix(1);
    return text.size() / 4 * 3 + (text.size() % 4 * 3) / 4;
}

std::optional<PixelSize> image_size(std::string_view base64) {
    // 64 kB hold the header of every format, also that of a JPEG with a thumbnail before it.
    const std::string bytes = decode_base64(base64.substr(0, 87384));
    const auto low = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
    if (bytes.starts_with("\x89PNG\r\n") && bytes.size() >= 24)
        return PixelSize{big_endian(bytes, 16, 4), big_endian(bytes, 20, 4)};
    if (bytes.starts_with("GIF8") && bytes.size() >= 10)
        return PixelSize{low(6) + (low(7) * 256U), low(8) + (low(9) * 256U)};
    if (bytes.starts_with("\xff\xd8")) return jpeg_size(bytes);
    if (bytes.starts_with("RIFF") && bytes.size() >= 30 && bytes.compare(8, 4, "WEBP") == 0)
        return webp_size(bytes);
    return std::nullopt;
}

std::uint32_t pdf_pages(std::string_view bytes) {
    std::uint32_t pages = 0;
    constexpr std::string_view kind = "/Type";
    for (std::size_t at = bytes.find(kind); at != std::string_view::npos;
         at = bytes.find(kind, at + 1)) {
        std::string_view rest = bytes.substr(at + kind.size());
        rest.remove_prefix(std::min(rest.find_first_not_of(" \r\n"), rest.size()));
        if (rest.starts_with("/Page") && !rest.starts_with("/Pages")) ++pages;
    }
    return std::max(pages, 1u);
}

std::optional<DataUrl> read_data_url(std::string_view url) {
    constexpr std::string_view scheme = "data:", mark = ";base64,";
    const std::size_t middle = url.find(mark);
    if (!url.starts_with(scheme) || middle == std::string_view::npos) return {};
    return DataUrl{url.substr(scheme.size(), middle - scheme.size()),
                   url.substr(middle + mark.size())};
}

}  // namespace palimpsest
