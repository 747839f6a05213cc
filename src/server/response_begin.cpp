#include "server/response_begin.h"

#include <algorithm>

#include "format/json_edit.h"
#include "server/asked_model.h"
#include "server/openai_items.h"
#include "server/replay.h"
#include "server/request_messages.h"
#include "server/rest.h"
#include "server/stored_response.h"

namespace palimpsest {
namespace {

constexpr std::size_t turn_messages_max = 1000;

// ---- where it goes ------------------------------------------------------------------------------

struct Destination {
    ConversationId name = {};
    std::optional<Seq> expected_end = {};  // conflict: something was said meanwhile
    IfAbsent if_absent = IfAbsent::fail;
    bool made = false;  // the conversation is made for this response
    std::optional<StoredResponse> previous = {};
};

// Whether something was said behind the response; edits and notes do not count.
Result<bool> said_since(Memory& memory, const StoredResponse& response) {
    if (response.end >= response.header.end) return false;
    PAL_TRY(entries,
            memory.log(response.header.name, {.range = {response.end + 1, response.header.end},
                                              .kinds = only(EntryKind::message),
                                              .limit = 1,
                                              .content = false}));
    return !entries.empty();
}

Result<Destination> find_destination(Call& call) {
    if (const std::string id = named_conversation(call); !id.empty()) {
        const bool may_make = is_named_by_header(call);
        return Destination{.name = {call.site.tenant, id},
                           .if_absent = may_make ? IfAbsent::create : IfAbsent::fail};
    }
    const std::optional<std::string> previous = call.text("previous_response_id");
    if (!previous) {
        PAL_TRY(name, new_name(call));
        return Destination{.name = name, .if_absent = IfAbsent::create, .made = true};
    }
    auto response = load_response(call.site, *previous);
    if (!response) {
        Error error = response.error();
        if (error.code == ErrorCode::not_found) error.param = "previous_response_id";
        return std::unexpected(error);
    }
    if (response->state.is_open())
        return fail(ErrorCode::invalid_request, "that response is not finished yet",
                    "previous_response_id");
    PAL_TRY(moved, said_since(call.site.memory, *response));
    Destination destination{.name = response->header.name,
                            .expected_end = moved ? response->end : response->header.end,
                            .made = response->made};
    destination.previous = *std::move(response);
    return destination;
}

Result<void> fork_from(Call& call, const std::string& key, Destination& destination) {
    const StoredResponse& previous = *destination.previous;
    PAL_TRY(child, new_name(call));
    WriteOptions write;
    if (!key.empty()) write.key = "fork/" + key;
    PAL_TRY(header, call.site.memory.fork(previous.header.name, child, previous.end, write));
    destination.name = header.name;
    destination.expected_end = {};
    return {};
}

// ---- beginning ----------------------------------------------------------------------------------

Result<Begun> begin_once(Call& call, const ResponseInput& said, const Destination& destination,
                         const ResponseTurn& turn) {
    WriteOptions write{.key = said.key,
                       .expected_end = destination.expected_end,
                       .if_absent = destination.if_absent};
    if (said.leading != "[]") {
        WriteOptions first = write;
        if (!first.key.empty()) first.key = "leading/" + first.key;
        PAL_TRY(written, call.site.memory.append(
                             destination.name,
                             {.messages = said.leading, .format = item_format, .write = first}));
        if (write.expected_end) write.expected_end = written.last;
    }
    const std::string messages = with_instructions(call, said.rest);
    return begin_for(call, destination.name,
                     {.messages = messages,
                      .format = item_format,
                      .model = std::string(turn.model->name()),
                      .tools = turn.tools,
                      .parameters = call_parameters(turn.state, destination.made),
                      .policy = said.policy,
                      .write = write,
                      .resend = said.resent,
                      .digest = said.digest});
}

Result<bool> has_answer(Memory& memory, const Begun& begun) {
    PAL_TRY(entries, memory.log(begun.name, {.range = {begun.turn, seq_max},
                                             .kinds = only(EntryKind::message),
                                             .limit = turn_messages_max,
                                             .content = false}));
    return std::ranges::any_of(entries, [&](const Entry& entry) {
        return std::get<MessageEntry>(entry.body).answers == begun.turn;
    });
}

// A response is a place in the log, with one answer: a question that is asked again although it has
// one is said again, in the place of both.
Result<Begun> ask_anew(Call& call, const ResponseInput& said, const Destination& destination,
                       const ResponseTurn& turn, Begun begun) {
    Memory& memory = call.site.memory;
    if (begun.already) return begun;
    PAL_TRY(answered, has_answer(memory, begun));
    if (!answered) return begun;
    memory.release(begun);
    WriteOptions back;
    ResponseInput again = said;
    if (!said.key.empty()) {
        back.key = "back/" + said.key;
        again.key = "anew/" + said.key;
    }
    PAL_TRY(rewound, memory.rewind(begun.name, Seq{begun.turn.value - 1}, "resend", back));
    (void)rewound;
    PAL_TRY(anew, begin_once(call, again, destination, turn));
    anew.warnings.insert(anew.warnings.begin(), begun.warnings.begin(), begun.warnings.end());
    return anew;
}

// A repeat of one that was forked finds its turn there.
Result<void> check_turn_paid(Call& call, const std::string& key, const Destination& destination) {
    std::vector<KeyedTurn> keyed{{destination.name, key}};
    if (destination.previous && !key.empty()) {
        PAL_TRY(child, new_name(call));
        keyed.push_back({child, key});
    }
    return check_paid(call, keyed);
}

}  // namespace

Result<void> ResponseInput::take(const std::string& items) {
    if (resent) {
        rest = items;
        return {};
    }
    PAL_TRY(document, parse_json(items));
    std::vector<std::string> first, others;
    for (const JsonValue item : document.root().elements()) {
        const auto role = item.find("role");
        const bool system = role && (role->string() == "system" || role->string() == "developer");
        (system && others.empty() ? first : others).emplace_back(item.raw());
    }
    leading = json_list(first);
    rest = json_list(others);
    return {};
}

// At the end of the conversation, or else in a fork.
Result<Begun> begin_response(Call& call, const ResponseInput& said, const ResponseTurn& turn) {
    PAL_TRY(destination, find_destination(call));
    PAL_CHECK(check_turn_paid(call, said.key, destination));
    auto begun = begin_once(call, said, destination, turn);
    if (!begun && begun.error().code == ErrorCode::conflict && destination.previous) {
        PAL_CHECK(fork_from(call, said.key, destination));
        begun = begin_once(call, said, destination, turn);
    }
    if (begun && said.resent) begun = ask_anew(call, said, destination, turn, *std::move(begun));
    if (!begun && begun.error().code == ErrorCode::not_found && begun.error().param.empty() &&
        call.field("conversation"))
        return fail(ErrorCode::not_found, begun.error().message, "conversation");
    return begun;
}

}  // namespace palimpsest
