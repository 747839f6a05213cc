// erase, scrub: the only commands that remove what was said.
#include <algorithm>
#include <cstdio>
#include <functional>

#include "base/clock.h"
#include "base/ids.h"
#include "base/time.h"
#include "cli/acting.h"
#include "cli/command.h"
#include "engine/present.h"
#include "server/kept_words.h"

namespace palimpsest {

namespace {

Result<AuditedAct> begin_removal(Invocation& call, std::string_view act, std::string target) {
    auto begun = begin_act(call.memory->store(), call.settings.tenant, act, std::move(target));
    if (!begun && begun.error().code == ErrorCode::no_space)
        begun.error().message += "; removing needs space too: free some outside the store first";
    return begun;
}

}  // namespace

Result<int> run_scrub(Invocation& call) {
    std::vector<Seq> messages;
    for (const std::string& word : call.arguments.from(1)) {
        PAL_TRY(seq, parse_seq(word));
        messages.push_back(seq);
    }
    std::ranges::sort(messages);
    messages.erase(std::ranges::unique(messages).begin(), messages.end());
    PAL_TRY(act, begin_removal(call, "messages.scrub", call.name().id));
    const auto done = scrub_all(*call.memory, call.name(), messages);
    act.end(done ? nullptr : &done.error());
    PAL_CHECK(done);
    if (call.json())
        call.out.json_line("{\"scrubbed\":" + std::to_string(messages.size()) + "}");
    else
        call.out.line("scrubbed " + std::to_string(messages.size()));
    return 0;
}

namespace {

constexpr Flag erase_flag_table[] = {
    {"owner", "NAME", "Erases every conversation of this owner instead of one ID."},
    {"older-than", "TIME", "Erases those not updated for so long (90d, 24h); with --owner, both."},
    {"expired", "", "Removes what has expired and still takes space; a server does it by itself."},
    {"dry-run", "", "Only shows which would go."},
};

std::string joined(const std::vector<std::string>& texts, std::string_view between) {
    std::string all;
    for (const std::string& text : texts) {
        if (!all.empty()) all += between;
        all += printable(text);
    }
    return all;
}

void print_receipt(Invocation& call, const std::string& name, bool many, const Receipt& receipt) {
    if (call.json()) {
        std::string line;
        JsonWriter out(line);
        write_receipt(out, receipt);
        line.insert(1, "\"id\":" + json_string(name) + ",");
        call.out.json_line(std::move(line));
        return;
    }
    call.out.line((many ? printable(name) + ": " : "") + "erased " +
                  std::to_string(receipt.entries) +
                  " entries, with their summaries and their words in the search index");
    if (!receipt.kept_for.empty())
        call.out.line("kept what these forks share: " + joined(receipt.kept_for, ", "));
    if (!receipt.remains.empty())
        call.out.line("what may still have it: " + joined(receipt.remains, "; "));
}

// Whoever erases is told what nobody could look at before it went.
void tell_unread(const std::string& id, const Error& why) {
    std::fprintf(stderr, "pal: %s: it was erased unread: %s\n", printable(id).c_str(),
                 printable(why.message).c_str());
}

struct Chosen {
    std::vector<ConversationId> names = {};
    std::vector<std::string> unread = {};  // nobody can say whether these are chosen
};

// Those that a damaged listing leaves out are chosen like the others.
Result<void> add_unlisted(Invocation& call, const std::function<bool(const Header&)>& fits,
                          Chosen& chosen) {
    PAL_TRY(unlisted, call.memory->store().unlisted(std::vector{call.settings.tenant}));
    for (const Unlisted& one : unlisted) {
        if (std::ranges::find(chosen.names, one.name) != chosen.names.end()) continue;
        const auto header = call.memory->head(one.name);
        if (header && fits(*header)) chosen.names.push_back(one.name);
        if (!header && (!one.damage.empty() || header.error().code != ErrorCode::not_found))
            chosen.unread.push_back(one.name.id.empty() ? "log " + hex(one.log) : one.name.id);
    }
    return {};
}

using Visit = std::function<Result<void>(const Header&)>;
Result<void> each_listed(Invocation& call, std::optional<std::string> owner, const Visit& visit) {
    ListQuery query{.tenant = call.settings.tenant, .owner = std::move(owner)};
    query.newest_first = false;
    do {
        PAL_TRY(page, call.memory->list(query));
        for (const Header& header : page.headers) PAL_CHECK(visit(header));
        query.after = page.next;
    } while (!query.after.empty());
    return {};
}

// Whether the one that is listed without an owner has a header that says so. Nothing: it is gone.
Result<std::optional<bool>> is_readable(Invocation& call, const ConversationId& name) {
    const auto header = call.memory->head(name);
    if (header) return true;
    if (header.error().code == ErrorCode::not_found) return std::nullopt;
    if (header.error().code == ErrorCode::unavailable) return std::unexpected(header.error());
    return false;
}

// What is damaged says no owner: it is chosen where the index of owners still has it, unless its
// age is asked for too, which nobody knows. Any other may be the owner's as well, so it is named.
Result<void> add_damaged(Invocation& call, const std::string& owner, bool by_age, Chosen& chosen) {
    std::vector<ConversationId> indexed;
    PAL_CHECK(each_listed(call, owner, [&](const Header& header) -> Result<void> {
        if (header.owner.empty()) indexed.push_back(header.name);
        return {};
    }));
    return each_listed(call, std::nullopt, [&](const Header& header) -> Result<void> {
        if (!header.owner.empty()) return {};
        PAL_TRY(readable, is_readable(call, header.name));
        if (!readable || *readable) return {};
        const bool by_index = std::ranges::find(indexed, header.name) != indexed.end();
        if (by_index && !by_age)
            chosen.names.push_back(header.name);
        else
            chosen.unread.push_back(header.name.id);
        return {};
    });
}

// Names first, all of them: erasing while paging would move the pages.
Result<Chosen> chosen_conversations(Invocation& call) {
    const std::optional<std::string> owner = call.arguments.get("owner");
    std::optional<Time> before;
    if (const auto age = call.arguments.get("older-than")) {
        PAL_TRY(duration, parse_duration(*age));
        before = system_now() - duration;
    }
    const auto fits = [&](const Header& header) {
        return (!owner || header.owner == *owner) && (!before || header.updated < *before);
    };
    Chosen chosen;
    PAL_CHECK(each_listed(call, owner, [&](const Header& header) -> Result<void> {
        if (fits(header)) chosen.names.push_back(header.name);
        return {};
    }));
    if (owner) PAL_CHECK(add_damaged(call, *owner, before.has_value(), chosen));
    PAL_CHECK(add_unlisted(call, fits, chosen));
    return chosen;
}

// What has expired is not in any list: the store alone knows it.
Result<int> erase_expired(Invocation& call) {
    constexpr std::size_t at_once = 100;
    if (call.arguments.has("dry-run"))
        return fail(ErrorCode::invalid_request,
                    "what has expired cannot be listed: pal erase --expired has no --dry-run");
    PAL_TRY(act, begin_removal(call, "retention.sweep", ""));
    std::size_t went = 0, now = 0;
    do {
        PAL_TRY(swept, call.memory->store().sweep(at_once));
        went += now = swept;
    } while (now > 0);
    PAL_CHECK(purge_gone(call.memory->store()));
    act.name_target(std::to_string(went) + " expired");
    act.end();
    if (call.json())
        call.out.json_line("{\"expired\":" + std::to_string(went) + "}");
    else
        call.out.line("removed " + std::to_string(went) + " expired conversations");
    return 0;
}

}  // namespace

extern const Flags erase_flags;
const Flags erase_flags = erase_flag_table;

Result<int> run_erase(Invocation& call) {
    const bool many = call.arguments.has("owner") || call.arguments.has("older-than");
    const bool expired = call.arguments.has("expired");
    if (call.arguments.get("owner") == "")
        return fail(ErrorCode::invalid_request,
                    "--owner needs a name: an empty one would mean every conversation that has no "
                    "owner. Name those by their IDs (`pal list` shows them), or by their age with "
                    "--older-than",
                    "--owner");
    if (many + expired + (call.arguments.size() > 0) != 1)
        return fail(ErrorCode::invalid_request,
                    "pal erase takes one ID, or --owner and --older-than, or --expired");
    if (expired) return erase_expired(call);
    Chosen chosen;
    if (many) {
        PAL_TRY(found, chosen_conversations(call));
        chosen = std::move(found);
    } else {
        chosen.names.push_back(call.name());
    }
    for (const ConversationId& name : chosen.names) {
        if (call.arguments.has("dry-run")) {
            call.out.line(call.json() ? json_string(name.id) : printable(name.id));
            continue;
        }
        const auto header = call.memory->head(name);
        PAL_TRY(act, begin_removal(call, "conversation.erase", name.id));
        const auto receipt = erase_all(*call.memory, name);
        act.end(receipt ? nullptr : &receipt.error());
        if (!receipt && many && receipt.error().code == ErrorCode::not_found) continue;
        if (!receipt && receipt.error().code == ErrorCode::not_found)
            return fail(ErrorCode::not_found,
                        receipt.error().message +
                            "; if it has expired, `pal erase --expired` removes its words");
        if (!receipt) return std::unexpected(receipt.error());
        print_receipt(call, name.id, many, *receipt);
        if (!header && (many || header.error().code == ErrorCode::internal))
            tell_unread(name.id, header.error());
    }
    if (!chosen.unread.empty())
        return fail(ErrorCode::internal,
                    "these are damaged, so that nobody can say whether they are meant; they were "
                    "left as they are: " +
                        joined(chosen.unread, ", ") + "; `pal doctor` tells more");
    return 0;
}

}  // namespace palimpsest
