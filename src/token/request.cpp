#include "token/request.h"

#include "base/json.h"
#include "base/media.h"
#include "token/media_tokens.h"
#include "token/tool_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace palimpsest {
namespace {

// Parts of content that are counted by what they hold.
constexpr std::string_view chat_parts[] = {"",          "text", "refusal",
                                           "image_url", "file", "input_audio"};

class ChatCount {
public:
    ChatCount(const ModelSpec& model, TokenCounter& counter)
        : model_(model), counter_(counter), ruled_(model.images, counter) {}

    RequestCount count(JsonValue request) {
        add(model_.overheads.per_request);
        bool has_system = false;
        for (const JsonValue message : request.find("messages")->elements()) {
            const std::string_view role = text(message, "role");
            has_system = has_system || role == "system" || role == "developer";
            count_message(message, role);
        }
        if (const auto tools = request.find("tools"); tools && tools->size() != 0)
            count_tools(*tools, has_system);
        if (const auto format = request.find("response_format")) count_format(*format);
        const auto choice = request.find("tool_choice");
        sum_.shape.forced = choice && (choice->is_object() || choice->string() == "required");
        sum_.overhead = static_cast<std::uint64_t>(std::max<std::int64_t>(overhead_, 0));
        return sum_;
    }

private:
    static std::string_view text(JsonValue object, std::string_view key) {
        const auto found = object.find(key);
        return found ? found->string() : std::string_view();
    }
    void add(std::int64_t tokens) { overhead_ += tokens; }
    std::uint64_t tokens(std::string_view words) { return counter_.count(words); }

    void count_message(JsonValue message, std::string_view role) {
        add(model_.overheads.per_message);
        ++sum_.shape.messages;
        sum_.messages += tokens(role);
        if (const auto content = message.find("content")) count_content(*content);
        if (const auto name = message.find("name")) {
            add(model_.overheads.per_name);
            sum_.messages += tokens(name->string());
        }
        if (const auto calls = message.find("tool_calls")) count_calls(*calls);
        if (role != "tool") return;
        add(model_.overheads.per_result);
        ++sum_.shape.results;
        sum_.messages += tokens(call_names_[std::string(text(message, "tool_call_id"))]);
    }

    void count_content(JsonValue content) {
        sum_.messages += tokens(content.string());
        for (const JsonValue part : content.elements()) count_part(part);
    }

    void count_part(JsonValue part) {
        const std::string_view type = text(part, "type");
        if (std::ranges::find(chat_parts, type) == std::end(chat_parts)) {
            sum_.messages += opaque_tokens(ruled_, part.raw());
            return;
        }
        sum_.messages += tokens(text(part, "text")) + tokens(text(part, "refusal"));
        if (const auto image = part.find("image_url")) count_image(*image);
        if (part.find("file")) sum_.media += document_tokens(model_.images, ruled_, part).total();
        if (type == "input_audio") sum_.media += tokens(type) + part.raw().size() / 64;
    }

    void count_image(JsonValue image) {
        const auto data = read_data_url(image.is_string() ? image.string() : text(image, "url"));
        const ImageSize size = data ? size_of_image(data->base64) : ImageSize{};
        sum_.media += image_tokens(model_.images, size, text(image, "detail") == "low");
    }

    void count_calls(JsonValue calls) {
        std::string joined;
        std::uint64_t apart = 0;
        for (const JsonValue call : calls.elements()) {
            const bool custom = text(call, "type") == "custom";
            const JsonValue function = call.find(custom ? "custom" : "function").value_or(call);
            const std::string_view name = text(function, "name"),
                                   arguments = text(function, custom ? "input" : "arguments");
            call_names_[std::string(text(call, "id"))] = name;
            apart += tokens(name) + tokens(arguments);
            joined += (joined.empty() ? "" : ",") +
                      std::string("{\"recipient_name\":\"functions.") + std::string(name) +
                      "\",\"parameters\":" + std::string(arguments) + "}";
        }
        sum_.shape.calls += static_cast<std::uint32_t>(calls.size());
        sum_.shape.arguments += apart;
        if (model_.overheads.joins_calls && calls.size() > 1) {
            add(1);
            sum_.messages +=
                tokens("multi_tool_use.parallel") + tokens("{\"tool_uses\":[" + joined + "]}");
        } else {
            add(model_.overheads.per_call * static_cast<std::int64_t>(calls.size()));
            sum_.messages += apart;
        }
    }

    void count_tools(JsonValue tools, bool has_system) {
        const ToolText declared = tool_text(tools);
        sum_.tools += tokens(declared.text);
        sum_.shape.tools = static_cast<std::uint32_t>(tools.size());
        add(model_.overheads.tools + (has_system ? model_.overheads.tools_system : 0));
        add(std::int64_t{model_.overheads.per_typed_tool} * declared.typed_tools);
    }

    void count_format(JsonValue format) {
        const auto wrapper = format.find("json_schema");
        const auto schema = wrapper ? wrapper->find("schema") : wrapper;
        if (!schema) return;
        add(model_.overheads.schema);
        sum_.shape.reply_schema = tokens(compact_json(schema->raw()));
        sum_.tools += sum_.shape.reply_schema;
    }

    const ModelSpec& model_;
    TokenCounter& counter_;
    const RuledCounter ruled_;
    RequestCount sum_;
    std::int64_t overhead_ = 0;
    std::map<std::string, std::string_view> call_names_;  // by call id
};

// Scales both sides so that neither exceeds `side`.
ImageSize within(ImageSize size, std::uint32_t side) {
    const std::uint32_t longest = std::max(size.width, size.height);
    if (longest <= side) return size;
    const auto scaled = [&](std::uint32_t one) {
        return std::max(1u, static_cast<std::uint32_t>(std::uint64_t{one} * side / longest));
    };
    return {scaled(size.width), scaled(size.height)};
}

std::uint64_t tiles(ImageSize size) {
    size = within(size, 2048);
    const std::uint32_t shortest = std::min(size.width, size.height);
    if (shortest > 768) {
        const auto scaled = [&](std::uint32_t one) {
            return static_cast<std::uint32_t>(std::uint64_t{one} * 768 / shortest);
        };
        size = {scaled(size.width), scaled(size.height)};
    }
    return std::uint64_t{(size.width + 511) / 512} * ((size.height + 511) / 512);
}

std::uint64_t patches_in(ImageSize size) {
    return std::uint64_t{(size.width + 31) / 32} * ((size.height + 31) / 32);
}

// An image of more patches is scaled so that whole ones fill its shorter side.
std::uint64_t patches(ImageSize size) {
    constexpr std::uint64_t most = 1536;
    if (patches_in(size) <= most) return patches_in(size);
    const double width = size.width, height = size.height;
    const double first = std::sqrt(32.0 * 32.0 * most / (width * height));
    const auto whole = [](double side) { return std::floor(side / 32) / (side / 32); };
    const double ratio = first * std::min(whole(width * first), whole(height * first));
    const auto scaled = [&](double side) { return static_cast<std::uint32_t>(side * ratio); };
    return std::min(patches_in({scaled(width), scaled(height)}), most);
}

}  // namespace

ImageSize size_of_image(std::string_view base64) {
    const auto size = image_size(base64);
    return size ? ImageSize{size->width, size->height} : ImageSize{};
}

std::uint64_t file_tokens(const ImageRule& rule, TokenCounter& counter, const AttachedFile& file) {
    if (file.media_type.starts_with("image/"))
        return image_tokens(rule, size_of_image(file.base64), false);
    if (file.media_type.starts_with("text/") || file.media_type == "application/json")
        return counter.count(decode_base64(file.base64));
    if (file.media_type == "application/pdf")
        return std::uint64_t{rule.per_page} * pdf_pages(decode_base64(file.base64));
    return file.base64.size() / 64;
}

std::uint64_t image_tokens(const ImageRule& rule, ImageSize size, bool low_detail) {
    if (size.width == 0 || size.height == 0) size = {1024, 1024};
    switch (rule.kind) {
        case ImageRule::Kind::tiles:
            return rule.base + (low_detail ? 0 : rule.per_tile * tiles(size));
        case ImageRule::Kind::patches:
            return patches(size) * rule.factor / 100;
        case ImageRule::Kind::area: {
            size = within(size, 1568);
            return std::min<std::uint64_t>(std::uint64_t{size.width} * size.height / 750, 1600);
        }
        case ImageRule::Kind::fixed:
            break;
    }
    return rule.base;
}

Result<RequestCount> count_chat_request(const ModelSpec& model, TokenCounter& counter,
                                        std::string_view body) {
    PAL_TRY(document, parse_json(body));
    const auto messages = document.root().find("messages");
    if (!messages || !messages->is_array())
        return fail(ErrorCode::invalid_request, "the request has no list of messages", "messages");
    return ChatCount(model, counter).count(document.root());
}

}  // namespace palimpsest
