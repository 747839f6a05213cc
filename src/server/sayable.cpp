#include "server/sayable.h"

#include <algorithm>
#include <set>
#include <string>

#include "palimpsest/format.h"

namespace palimpsest {
namespace {

// White space alone is a message to some formats and none to others: render() knows.
bool has_words(std::string_view text) {
    return text.find_first_not_of(" \t\n\r\v\f") != text.npos;
}

// The usual case, known without reading: somebody says something.
bool is_plainly_said(JsonValue message) {
    const auto role = message.find("role");
    const auto content = message.find("content");
    if (!role || role->string() != "user" || !content) return false;
    if (content->is_string()) return has_words(content->string());
    for (const JsonValue part : content->elements()) {
        const auto text = part.find("text");
        if (text && text->is_string() && has_words(text->string())) return true;
    }
    return false;
}

bool is_plain(JsonValue said) {
    if (said.is_string()) return true;
    std::optional<JsonValue> last;
    for (const JsonValue message : said.elements()) last = message;
    return last && is_plainly_said(*last);
}

using Ids = std::set<std::string, std::less<>>;

void add_calls(std::span<const Message> messages, Ids& ids) {
    for (const Message& message : messages)
        ids.insert(message.shape.calls.begin(), message.shape.calls.end());
}

// Whether a message of a role that we do not know has a place in the model's format.
bool has_place(const Message& message, FormatId to) {
    const auto words = make_message(message.format, Role::user, "x");
    if (!words) return true;
    const Message both[] = {*words, message};
    const auto rendered = render(to, both);
    return !rendered || rendered->messages.size() > 1;
}

bool leaves_nothing(const Message& message, FormatId to) {
    const auto rendered = render(to, {&message, 1});
    return !rendered && rendered.error().code == ErrorCode::invalid_request;
}

// A role that its own format does not know is nobody's, whatever another one would make of it.
bool reaches(const Message& message, const Ids& calls, FormatId to) {
    const Shape& shape = message.shape;
    if (shape.role == Role::other)
        return has_place(message, message.format) && has_place(message, to);
    if (shape.starts_turn()) return !leaves_nothing(message, to);
    if (shape.results.empty() || shape.text || shape.media > 0) return true;
    return std::ranges::any_of(shape.results,
                               [&](const std::string& id) { return calls.contains(id); });
}

// Of its parts.
std::string types_in(const Message& message) {
    std::string types;
    const auto document = parse_json(view_of(message.raw));
    const auto content = document ? document->root().find("content") : std::nullopt;
    if (!content || !content->is_array()) return types;
    for (const JsonValue part : content->elements())
        if (const auto type = part.find("type"); type && type->is_string())
            types += (types.empty() ? "" : ", ") + std::string(type->string());
    return types;
}

std::string described(const Message& message) {
    if (message.shape.role == Role::other) return "a role or type that is not known";
    if (message.shape.results.empty()) {
        const std::string types = types_in(message);
        return types.empty() ? "empty" : "nothing that this model can be told (" + types + ")";
    }
    return "the result of '" + message.shape.results.front() + "', a call that nobody made";
}

// "messages[2] is ..., messages[3] is ..."
std::unexpected<Error> refuse_newest(std::span<const Message> newest, std::size_t first,
                                     std::string_view param) {
    std::string words = "nothing new would be sent to the model: ";
    for (std::size_t i = 0; i < newest.size(); ++i)
        words += (i ? ", " : "") + std::string(param) + "[" + std::to_string(first + i) + "] is " +
                 described(newest[i]);
    return fail(ErrorCode::invalid_request, std::move(words),
                std::string(param) + "[" + std::to_string(first) + "]");
}

// Where no conversation is yet, what is said must be enough to ask a model.
Result<void> check_enough(std::span<const Message> said, FormatId to, std::string_view param) {
    if (said.empty()) return {};
    const auto rendered = render(to, said);
    if (rendered || rendered.error().code != ErrorCode::invalid_request) return {};
    return fail(ErrorCode::invalid_request, rendered.error().message, std::string(param));
}

}  // namespace

Result<void> check_sayable(JsonValue said, FormatId format, const Model& model,
                           const SaidBefore& before, std::string_view param) {
    if (is_plain(said)) return {};
    PAL_TRY(messages,
            read_messages(format, make_bytes(std::string(said.raw())), Fingerprints::left_out));
    const auto speaks = [](const Message& message) {
        return message.shape.role == Role::assistant;
    };
    const auto last = std::ranges::find_if(messages.rbegin(), messages.rend(), speaks);
    std::size_t first = static_cast<std::size_t>(messages.rend() - last);
    while (first < messages.size() && messages[first].shape.role == Role::system) ++first;
    const std::span<const Message> all(messages), newest = all.subspan(first);
    Ids calls;
    add_calls(all, calls);
    const auto told = [&](const Message& message) {
        return reaches(message, calls, model.format());
    };
    const auto earlier = before();
    if (!earlier && earlier.error().code != ErrorCode::not_found)
        return std::unexpected(earlier.error());
    if (earlier) add_calls(*earlier, calls);
    if (!newest.empty() && std::ranges::none_of(newest, told))
        return refuse_newest(newest, first, param);
    if (earlier && !earlier->empty()) return {};
    return check_enough(all, model.format(), param);
}

Result<std::vector<Message>> messages_in(Memory& memory, const ConversationId& name) {
    PAL_TRY(view, memory.view(name));
    std::vector<Message> messages;
    for (const Item& item : view.items) messages.push_back(item.message);
    return messages;
}

}  // namespace palimpsest
