#include "token/media_tokens.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

constexpr std::string_view image_types[] = {"image", "image_url", "input_image",
                                            "computer_screenshot"};
constexpr std::string_view document_types[] = {"document", "file", "input_file"};
constexpr int depth_max = 8;

bool is_one_of(std::string_view type, std::span<const std::string_view> types) {
    return std::ranges::find(types, type) != types.end();
}

// Data, a URL or a file's id, wherever the providers put them: {"source": {…}}, {"image_url": "…"},
// {"image_url": {"url": "…"}}, {"file_data": "…"}, {"file": {"file_data": "…"}}.
Media media_of(JsonValue part, Media::Kind kind) {
    Media media{.kind = kind, .json = part.raw()};
    if (const auto source = part.find("source")) {
        media.type = text(*source, "media_type");
        media.source = text(*source, "data");
        return media;
    }
    const auto inner = part.find(kind == Media::Kind::image ? "image_url" : "file");
    const JsonValue holder = inner && inner->is_object() ? *inner : part;
    std::string_view url = inner && inner->is_string() ? inner->string() : text(holder, "url");
    for (const std::string_view field : {"file_data", "file_url"})
        if (url.empty()) url = text(holder, field);
    const auto data = read_data_url(url);
    media.type = data ? data->media_type : std::string_view();
    media.source = data ? data->base64 : url;
    return media;
}

// What only says that it is a document has words of its own.
bool is_document(JsonValue value) {
    constexpr std::string_view holders[] = {"source",   "file",    "file_data",
                                            "file_url", "file_id", "url"};
    return is_one_of(text(value, "type"), document_types) &&
           std::ranges::any_of(holders, [&](auto field) { return value.find(field).has_value(); });
}

// Parts of a result's content that were counted as its text, or that cost nothing: a tool that is
// referred to is counted where it is declared.
constexpr std::string_view counted_types[] = {"text", "input_text", "output_text",
                                              "tool_reference"};

// What the value is, or holds.
std::uint64_t tokens_within(const Tokenizer& tokenizer, JsonValue value, int depth) {
    if (depth > depth_max) return 0;
    std::uint64_t tokens = 0;
    for (const JsonValue element : value.elements())
        tokens += tokens_within(tokenizer, element, depth + 1);
    if (!value.is_object()) return tokens;
    const std::string_view type = text(value, "type");
    if (is_one_of(type, image_types))
        return tokenizer.count_media(media_of(value, Media::Kind::image));
    if (is_one_of(type, document_types))
        return tokenizer.count_media(media_of(value, Media::Kind::document));
    const bool is_part = depth == 1 && !type.empty();
    if (is_part && !is_one_of(type, counted_types)) return opaque_tokens(tokenizer, value.raw());
    for (const std::string_view field : {"content", "output", "outputs"})
        if (const auto inner = value.find(field))
            tokens += tokens_within(tokenizer, *inner, depth + 1);
    return tokens;
}

// Title and context stand in the block, the name of a file there or in the file.
std::uint64_t naming_tokens(const Tokenizer& tokenizer, JsonValue block) {
    std::uint64_t tokens = 0;
    for (const std::string_view field : {"title", "context", "filename"})
        tokens += tokenizer.count(text(block, field));
    const auto file = block.find("file");
    return file ? tokens + tokenizer.count(text(*file, "filename")) : tokens;
}

// A document given as content: texts and images.
PartTokens content_tokens(const ImageRule& rule, const Tokenizer& tokenizer, JsonValue content) {
    PartTokens tokens{.words = tokenizer.count(content.string())};
    for (const JsonValue part : content.elements()) {
        const std::string_view type = text(part, "type");
        if (is_one_of(type, image_types))
            tokens.media += media_tokens(rule, tokenizer, media_of(part, Media::Kind::image));
        else
            tokens.words += tokenizer.count(type == "text" ? text(part, "text") : part.raw());
    }
    return tokens;
}

std::uint64_t attached_tokens(const ImageRule& rule, const Tokenizer& tokenizer,
                              const Media& media) {
    if (is_reference(media)) return rule.per_page;
    const auto counter = tokenizer.counter();
    return file_tokens(rule, *counter, {media.type, media.source});
}

// In the order in which they stand; each with the JSON that is its own.
void find_media(JsonValue value, std::vector<Media>& out, int depth) {
    if (depth > depth_max) return;
    for (const JsonValue element : value.elements()) find_media(element, out, depth + 1);
    if (!value.is_object()) return;
    const std::string_view type = text(value, "type");
    const auto result = value.find("result");
    if (type == "image_generation_call" && result && result->is_string())
        return out.push_back({.kind = Media::Kind::image,
                              .type = "image/png",
                              .source = result->string(),
                              .json = result->raw()});
    if (is_one_of(type, image_types)) return out.push_back(media_of(value, Media::Kind::image));
    if (is_document(value)) return out.push_back(media_of(value, Media::Kind::document));
    for (const JsonMember& member : value.members()) find_media(member.value, out, depth + 1);
}

}  // namespace

PartTokens document_tokens(const ImageRule& rule, const Tokenizer& tokenizer, JsonValue block) {
    const auto source = block.find("source");
    const auto content = source ? source->find("content") : std::nullopt;
    PartTokens tokens = content ? content_tokens(rule, tokenizer, *content) : PartTokens{};
    tokens.words += naming_tokens(tokenizer, block);
    if (source && text(*source, "type") == "text")
        tokens.words += tokenizer.count(text(*source, "data"));
    else if (!content)
        tokens.media += attached_tokens(rule, tokenizer, media_of(block, Media::Kind::document));
    return tokens;
}

std::uint64_t opaque_tokens(const Tokenizer& tokenizer, std::string_view json) {
    constexpr std::size_t small = 256;  // No picture is in it.
    const auto document = json.size() < small ? std::nullopt : std::optional(parse_json(json));
    if (!document || !*document) return tokenizer.count(json);
    std::vector<Media> media;
    find_media((*document)->root(), media, 0);
    std::uint64_t tokens = 0;
    std::string words;
    const char* from = json.data();
    for (const Media& one : media) {
        words.append(from, one.json.data());
        from = one.json.data() + one.json.size();
        tokens += tokenizer.count_media(one);
    }
    return tokens + tokenizer.count(words.append(from, json.data() + json.size()));
}

std::uint64_t media_tokens(const ImageRule& rule, const Tokenizer& tokenizer, const Media& media) {
    switch (media.kind) {
        case Media::Kind::audio:
            return media.source.size() / 64;
        case Media::Kind::document: {
            const auto block = parse_json(media.json);
            return block ? document_tokens(rule, tokenizer, block->root()).total()
                         : attached_tokens(rule, tokenizer, media);
        }
        case Media::Kind::image:
            break;
    }
    const ImageSize size = is_reference(media) ? ImageSize{} : size_of_image(media.source);
    return image_tokens(rule, size, is_low_detail(media.json));
}

std::uint64_t media_tokens_within(const Tokenizer& tokenizer, std::string_view content) {
    if (!content.starts_with('[') && !content.starts_with('{')) return 0;
    const auto document = parse_json(content);
    return document ? tokens_within(tokenizer, document->root(), 0) : 0;
}

}  // namespace palimpsest
