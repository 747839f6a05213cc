#include "palimpsest/chat.h"

#include "base/json_write.h"

namespace palimpsest {
namespace {

// How many items of the view stay when the latest `count` go, in whole groups.
std::size_t kept_before(const View& view, std::size_t count) {
    const std::size_t size = view.items.size();
    const std::size_t first = count < size ? size - count : 0;
    for (const Group& group : find_groups(view.items))
        if (group.first <= first && first <= group.last) return group.first;
    return first;
}

std::vector<Message> messages_from(const View& view, std::size_t first) {
    std::vector<Message> out;
    for (std::size_t i = first; i < view.items.size(); ++i) out.push_back(view.items[i].message);
    return out;
}

}  // namespace

ConversationSession::ConversationSession(Memory& memory, ConversationId name, FormatId format)
    : memory_(memory), name_(std::move(name)), format_(format) {}

Result<View> ConversationSession::view() {
    auto view = memory_.view(name_);
    if (!view && view.error().code == ErrorCode::not_found) return View{};
    return view;
}

Result<std::vector<Message>> ConversationSession::items(std::optional<std::size_t> limit) {
    PAL_TRY(view, this->view());
    if (!limit || *limit >= view.items.size()) return messages_from(view, 0);
    // Forward to the next whole group, so that there are not more than was asked for.
    const std::size_t first = view.items.size() - *limit;
    for (const Group& group : find_groups(view.items))
        if (group.first >= first) return messages_from(view, group.first);
    return std::vector<Message>();
}

Result<void> ConversationSession::add(std::string_view messages, std::string operation) {
    AppendRequest request{.messages = messages, .format = format_};
    request.write.key = std::move(operation);
    PAL_TRY(written, memory_.append(name_, request));
    (void)written;
    return {};
}

Result<void> ConversationSession::hide_behind(Seq last_kept, std::string operation) {
    WriteOptions write{.key = std::move(operation)};
    PAL_TRY(done, memory_.rewind(name_, last_kept, "session", write));
    (void)done;
    return {};
}

Result<std::vector<Message>> ConversationSession::pop(std::string operation) {
    PAL_TRY(view, this->view());
    if (view.items.empty()) return std::vector<Message>();
    const std::size_t first = kept_before(view, 1);
    const Seq kept = first == 0 ? Seq{} : view.items[first - 1].range.to;
    PAL_CHECK(hide_behind(kept, std::move(operation)));
    return messages_from(view, first);
}

Result<void> ConversationSession::clear(std::string operation) {
    PAL_TRY(view, this->view());
    if (view.items.empty()) return {};
    return hide_behind(Seq{}, std::move(operation));
}

Result<void> ConversationSession::replace_suffix(std::size_t count, std::string_view messages,
                                                 const std::string& operation) {
    if (operation.empty())
        return fail(ErrorCode::invalid_request, "a transaction needs the id of its operation",
                    "operation");
    // Where it began is noted first: a repeat counts from the same place.
    AppendRequest mark{.messages = "[]", .format = format_};
    mark.write.key = operation + "/begin";
    mark.notes.push_back(
        {"transaction", make_bytes("{\"operation\":" + json_string(operation) + "}")});
    PAL_TRY(begun, memory_.append(name_, mark));
    PAL_TRY(view, memory_.view(name_, {.at = begun.last}));
    const std::size_t first = kept_before(view, count);
    if (first < view.items.size()) {
        const Seq kept = first == 0 ? Seq{} : view.items[first - 1].range.to;
        PAL_CHECK(hide_behind(kept, operation + "/hide"));
    }
    return add(messages, operation + "/add");
}

}  // namespace palimpsest
