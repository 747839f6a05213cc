#include "token/media_tokens.h"

#include "base/json.h"
#include "base/media.h"
#include "token/request.h"

namespace palimpsest {
namespace {

std::string_view text(JsonValue value, std::string_view field) {
    const auto found = value.find(field);
    return found ? found->string() : std::string_view();
}

bool is_reference(const Media& media) {
    return media.source.empty() || media.source.starts_with("http") || media.type.empty();
}

bool is_low_detail(std::string_view json) {
    const auto document = parse_json(json);
    if (!document) return false;
    const auto image = document->root().find("image_url");
    return text(document->root(), "detail") == "low" || (image && text(*image, "detail") == "low");
}

// A part of a list, if it is an image or a document.
Media media_of(JsonValue part) {
    Media media;
    media.json = part.raw();
    if (text(part, "type") == "document") media.kind = Media::Kind::document;
    if (const auto source = part.find("source")) {
        media.type = text(*source, "media_type");
        media.source = text(*source, "data");
        return media;
    }
    const auto image = part.find("image_url");
    if (!image) return media;
    const std::string_view url = image->is_object() ? text(*image, "url") : image->string();
    const auto data = read_data_url(url);
    media.type = data ? data->media_type : std::string_view();
    media.source = data ? data->base64 : url;
    return media;
}

}  // namespace

std::uint64_t media_tokens(const ImageRule& rule, const Tokenizer& tokenizer, const Media& media) {
    switch (media.kind) {
        case Media::Kind::audio:
            return media.source.size() / 64;
        case Media::Kind::document: {
            if (is_reference(media)) return rule.per_page;
            const auto counter = tokenizer.counter();
            return file_tokens(rule, *counter, {media.type, media.source});
        }
        case Media::Kind::image:
            break;
    }
    const ImageSize size = is_reference(media) ? ImageSize{} : size_of_image(media.source);
    return image_tokens(rule, size, is_low_detail(media.json));
}

std::uint64_t media_tokens_within(const Tokenizer& tokenizer, std::string_view content) {
    if (!content.starts_with('[')) return 0;
    const auto document = parse_json(content);
    if (!document) return 0;
    std::uint64_t tokens = 0;
    for (const JsonValue part : document->root().elements()) {
        const std::string_view type = text(part, "type");
        if (type == "image" || type == "document" || type == "input_image" || type == "image_url")
            tokens += tokenizer.count_media(media_of(part));
    }
    return tokens;
}

}  // namespace palimpsest
