#include "engine/turn_lease.h"

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/json_write.h"
#include "core/metadata.h"

#include <fmt/format.h>

namespace palimpsest {
namespace {

constexpr std::string_view turns_space = "turns";
constexpr std::string_view turn_names[] = {"allow", "wait", "refuse", "fork"};
constexpr auto first_look = std::chrono::milliseconds(5),
               last_look = std::chrono::milliseconds(200);

struct Lease {
    std::string owner = {};
    Seq end = {};  // of the log when the turn began
    std::uint64_t version = 0;
};

RecordKey record_of(const ConversationId& name) {
    return {name.tenant, std::string(turns_space), name.id};
}

std::string owner_of(const BeginRequest& request) {
    const std::string& key = request.write.key;
    if (key.empty()) return hex(random_log_id());
    const Fingerprint print = hash_bytes(key);
    return fmt::format("{:016x}{:016x}", print.high, print.low);
}

// None: nobody holds it.
Result<std::optional<Lease>> read_lease(Store& store, const ConversationId& name) {
    const auto record = store.get_record(record_of(name));
    if (!record && record.error().code == ErrorCode::not_found) return std::nullopt;
    if (!record) return std::unexpected(record.error());
    Lease lease{.version = record->version};
    if (const auto document = parse_json(record->value)) {
        const auto owner = document->root().find("owner"), end = document->root().find("end");
        if (owner) lease.owner = owner->string();
        if (end) lease.end = Seq{static_cast<std::uint64_t>(end->integer().value_or(0))};
    }
    return lease;
}

// False: somebody else was quicker.
Result<bool> write_lease(Memory::State& state, const ConversationId& name, const Lease& lease) {
    std::string text;
    JsonWriter out(text);
    out.begin_object().field("owner", lease.owner).key("end").number(lease.end.value).end_object();
    const auto put = state.store->put_record({.key = record_of(name),
                                              .value = std::move(text),
                                              .expected = lease.version,
                                              .ttl = state.turn_lease});
    if (put) return true;
    if (put.error().code == ErrorCode::conflict) return false;
    return std::unexpected(put.error());
}

// Whether it brings the results that the turn under way asked for; so does who brings nothing,
// because they are there already.
bool goes_on(const BeginRequest& request, const Opening& opening, const Lease& held) {
    if (opening.said.empty()) return request.continues == Seq{} || request.continues > held.end;
    const auto is_result = [](const Said& one) {
        return !one.message.shape.results.empty() || one.message.shape.role == Role::tool;
    };
    return request.resend ? is_result(opening.said.back())
                          : std::ranges::all_of(opening.said, is_result);
}

// The name of the fork is that of the key, so that a repeat finds it.
ConversationId fork_name(const ConversationId& name, std::string_view owner) {
    return {name.tenant,
            name.id.substr(0, id_bytes_max - 9) + "-" + std::string(owner.substr(0, 8))};
}

class Taking {
public:
    Taking(Memory& memory, Memory::State& state, const BeginRequest& request)
        : memory_(memory), state_(state), request_(request), mine_{owner_of(request), {}, 0} {}

    Result<TurnPlace> take(const ConversationId& name, Turns turns) {
        TurnPlace place{.name = name, .exclusive = true};
        const ConversationId child = fork_name(name, mine_.owner);
        if (turns == Turns::fork && !request_.write.key.empty() && state_.store->head(child))
            place.name = child;
        const auto until = std::chrono::steady_clock::now() + state_.turn_wait;
        for (auto look = first_look;; look = std::min(look * 2, last_look)) {
            PAL_TRY(held, try_once(place.name));
            place.fresh = !held;
            if (place.fresh) return place;
            const bool patient = turns == Turns::wait && std::chrono::steady_clock::now() < until;
            if (!patient && turns == Turns::fork && place.name == name) {
                PAL_CHECK(fork(name, child, held->end));
                place.name = child;
                place.warning = "another turn of '" + name.id +
                                "' was under way: this one takes place in '" + child.id + "'";
                continue;
            }
            place.taken = !patient;
            if (!patient) return place;
            std::this_thread::sleep_for(look);
        }
    }

private:
    // Gives whose it is when it cannot be had.
    Result<std::optional<Lease>> try_once(const ConversationId& name) {
        for (;;) {
            PAL_TRY(held, read_lease(*state_.store, name));
            if (held && held->owner != mine_.owner) return held;
            const auto header = state_.store->head(name);
            if (!header && header.error().code != ErrorCode::not_found)
                return std::unexpected(header.error());
            mine_.version = held ? held->version : 0;
            mine_.end = held ? held->end : header ? header->end : Seq{};
            if (request_.continues != Seq{})
                mine_.end = std::min(mine_.end, request_.continues - 1);
            PAL_TRY(written, write_lease(state_, name, mine_));
            if (written) return std::nullopt;
        }
    }

    Result<void> fork(const ConversationId& name, const ConversationId& child, Seq at) {
        const auto forked = memory_.fork(name, child, at);
        // A conversation whose first turn is under way has nothing to share, or is not there yet.
        if (forked || forked.error().code == ErrorCode::not_found ||
            forked.error().code == ErrorCode::conflict)
            return {};
        return std::unexpected(forked.error());
    }

    Memory& memory_;
    Memory::State& state_;
    const BeginRequest& request_;
    Lease mine_;
};

}  // namespace

std::optional<Turns> parse_turns(std::string_view name) {
    const auto at = std::ranges::find(turn_names, name);
    if (at == std::end(turn_names)) return std::nullopt;
    return static_cast<Turns>(at - std::begin(turn_names));
}

Turns turns_of(const Memory::State& state, const Header& header, const BeginRequest& request) {
    if (request.turns) return *request.turns;
    if (header.metadata.find("\"turns\"") == std::string::npos) return state.turns;
    return parse_turns(labels_of(header.metadata)["turns"]).value_or(state.turns);
}

Result<TurnPlace> take_turn(Memory& memory, Memory::State& state, const ConversationId& name,
                            const BeginRequest& request, const Opening& opening, Turns turns) {
    if (turns == Turns::allow) return TurnPlace{.name = name};
    PAL_TRY(held, read_lease(*state.store, name));
    if (held && goes_on(request, opening, *held)) {
        PAL_CHECK(write_lease(state, name, *held));
        return TurnPlace{.name = name, .exclusive = true};
    }
    return Taking(memory, state, request).take(name, turns);
}

std::unexpected<Error> turn_taken(const ConversationId& name) {
    return fail(ErrorCode::conflict,
                "another turn of conversation '" + name.id +
                    "' is under way; try again when it has ended, or set turns to wait or fork",
                "turns");
}

void keep_turn(Memory::State& state, const Begun& begun, bool over) {
    if (!begun.exclusive) return;
    const auto held = read_lease(*state.store, begun.name);
    if (!held || !*held || begun.turn <= (*held)->end) return;
    // A turn that cannot be ended here ends by itself when its time is over.
    if (over)
        (void)state.store->put_record({.key = record_of(begun.name), .expected = (*held)->version});
    else
        (void)write_lease(state, begun.name, **held);
}

void Memory::release(const Begun& begun) {
    keep_turn(*state_, begun, true);
}

}  // namespace palimpsest
