// What the bytes of an attachment say of themselves: base64, the pixels of an image, the pages of a
// PDF. Reads headers only, never fails on anything else than by not knowing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace palimpsest {

// Up to the first character that is not base64 (either alphabet).
std::string decode_base64(std::string_view text);
// The number of bytes that base64 text stands for.
std::size_t base64_bytes(std::string_view text);

// Width and height, read from the first bytes of PNG, GIF, JPEG or WebP data in base64.
struct PixelSize {
    std::uint32_t width = 0, height = 0;
};
std::optional<PixelSize> image_size(std::string_view base64);

// Page objects in a PDF's bytes, at least 1: those inside compressed objects are not seen.
std::uint32_t pdf_pages(std::string_view bytes);

// "data:image/png;base64,AAAA"
struct DataUrl {
    std::string_view media_type, base64;
};
std::optional<DataUrl> read_data_url(std::string_view url);

}  // namespace palimpsest
