// keys: those of clients (create, list, revoke), and the master key of an encrypted store (new,
// rotate).
#include <unistd.h>

#include <cstdio>

#include "base/clock.h"
#include "base/time.h"
#include "cli/acting.h"
#include "cli/command.h"
#include "cli/open.h"
#include "server/access.h"
#include "store/seal.h"
#include "store/sealed_store.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"to", "SOURCE", "rotate: the new master key: file:PATH, env:NAME or command:COMMAND."},
    {"scopes", "LIST", "create: of read, write, admin; default: read,write."},
    {"models", "LIST", "create: the models that it may ask, separated by commas; default: all."},
    {"rate", "N", "create: requests a minute at most; default: no limit."},
    {"budget", "LIST",
     "create: what the models that it asks may cost, as 5usd/day, 100usd/month, 200000tokens/day; "
     "default: no limit."},
    {"ttl", "SECONDS", "create: how long it is good; default: until it is revoked."},
};

constexpr std::uint64_t limit_max = 1'000'000'000;

Result<std::unique_ptr<Store>> open_keys(const Invocation& call, bool create) {
    StoreOptions options{.create = create};
    return open_store_of(call.settings, options);
}

void write_key(JsonWriter& out, const ApiKey& key) {
    out.field("id", key.id).field("name", key.name).field("tenant", key.tenant);
    out.key("scopes").begin_array();
    for (const std::string& scope : split_list(scopes_text(key.scopes))) out.string(scope);
    out.end_array().key("models").begin_array();
    for (const std::string& model : key.models) out.string(model);
    out.end_array().key("per_minute").number(key.per_minute);
    out.key("budget").begin_array();
    for (const std::string& limit : split_list(budget_text(key.budget))) out.string(limit);
    out.end_array();
    out.field("created_at", format_time(key.created)).key("expires_at");
    key.expires ? out.string(format_time(*key.expires)) : out.null();
}

void write_spent(JsonWriter& out, const Spent& spent) {
    out.begin_object().key("tokens").number(spent.tokens);
    out.key("dollars").number(spent.dollars).end_object();
}

void print_key(Invocation& call, const ApiKey& key, std::string_view text,
               const SpentNow& spent = {}) {
    std::string line;
    JsonWriter out(line);
    out.begin_object();
    write_key(out, key);
    write_spent(out.key("spent_today"), spent.day);
    write_spent(out.key("spent_this_month"), spent.month);
    if (!text.empty()) out.field("key", text);
    out.end_object();
    call.out.json_line(std::move(line));
}

// The text is shown this once.
void print_new(Invocation& call, const NewKey& made) {
    if (call.json()) {
        print_key(call, made.key, made.text);
        return;
    }
    call.out.line(made.text);
    if (isatty(STDERR_FILENO))
        std::fputs(("key " + made.key.id + " of tenant " + printable(made.key.tenant) + " may " +
                    scopes_text(made.key.scopes) +
                    "; it is shown this once. From now on a server on this store wants a key with "
                    "every request\n")
                       .c_str(),
                   stderr);
}

// An empty list would be a key for all models, or without a budget: not what somebody means whose
// variable is not set.
Result<void> refuse_empty_lists(const Arguments& arguments) {
    for (const std::string_view flag : {"models", "budget"})
        if (const auto list = arguments.get(flag); list && split_list(*list).empty())
            return fail(ErrorCode::invalid_request,
                        "--" + std::string(flag) + " names none; leave it out for no limit",
                        std::string(flag));
    return {};
}

Result<int> create(Invocation& call) {
    PAL_CHECK(refuse_empty_lists(call.arguments));
    ApiKey key{.name = call.arguments.size() > 1 ? call.arguments[1] : "",
               .tenant = call.settings.tenant};
    PAL_TRY(scopes, parse_scopes(call.arguments.get("scopes").value_or("read,write")));
    PAL_TRY(rate, parse_count(call.arguments, "rate", 0, limit_max));
    PAL_TRY(seconds, parse_count(call.arguments, "ttl", 0, limit_max));
    PAL_TRY(budget, parse_budget(call.arguments.get("budget").value_or("")));
    key.budget = budget;
    key.scopes = scopes;
    key.per_minute = rate;
    key.models = split_list(call.arguments.get("models").value_or(""));
    if (seconds > 0) key.expires = system_now() + std::chrono::seconds(seconds);
    PAL_TRY(store, open_keys(call, true));
    PAL_TRY(act, begin_act(*store, key.tenant, "key.create", key.name));
    const auto made = create_key(*store, std::move(key));
    if (made) act.name_target(made->key.id);
    act.end(made ? nullptr : &made.error());
    if (!made) return std::unexpected(made.error());
    print_new(call, *made);
    return 0;
}

Result<int> list(Invocation& call) {
    PAL_TRY(store, open_keys(call, false));
    PAL_TRY(keys, list_keys(*store));
    if (call.json()) {
        for (const ApiKey& key : keys) {
            PAL_TRY(spent, read_spent(*store, key.id, system_now()));
            print_key(call, key, {}, spent);
        }
        return 0;
    }
    Table table({"ID", "TENANT", "SCOPES", "RATE", "BUDGET", "MODELS", "CREATED", "NAME"});
    for (const ApiKey& key : keys) {
        std::string models;
        for (const std::string& model : key.models) models += (models.empty() ? "" : ",") + model;
        table.add({key.id, printable(key.tenant), scopes_text(key.scopes),
                   key.per_minute ? std::to_string(key.per_minute) + "/min" : "-",
                   key.budget.empty() ? "-" : budget_text(key.budget),
                   models.empty() ? "all" : printable(models), format_time(key.created),
                   printable(key.name)});
    }
    table.print(call.out);
    return 0;
}

Result<int> revoke(Invocation& call) {
    if (call.arguments.size() < 2)
        return fail(ErrorCode::invalid_request, "pal keys revoke needs the id of a key");
    PAL_TRY(store, open_keys(call, false));
    // Who looks after a tenant reads what became of its keys. One that cannot be read goes as well.
    const auto key = find_key(*store, call.arguments[1]);
    const std::string& tenant = key ? key->tenant : call.settings.tenant;
    PAL_TRY(act, begin_act(*store, tenant, "key.revoke", call.arguments[1]));
    const auto done = revoke_key(*store, call.arguments[1]);
    act.end(done ? nullptr : &done.error());
    if (!done) {
        if (done.error().code != ErrorCode::not_found) return std::unexpected(done.error());
        return fail(ErrorCode::not_found, "there is no key " + printable(call.arguments[1]) +
                                              "; `pal keys list` shows those that are there");
    }
    if (call.json())
        call.out.json_line("{\"revoked\":" + json_string(call.arguments[1]) + "}");
    else
        call.out.line("revoked " + printable(call.arguments[1]) +
                      "; running servers refuse it within a second");
    return 0;
}

void print_rotation(Invocation& call, const Rotation& done, const std::string& master) {
    if (call.json()) {
        std::string line;
        JsonWriter out(line);
        out.begin_object().key("changed").number(std::uint64_t{done.changed});
        out.field("master", master).key("unread").begin_array();
        for (const std::string& key : done.unread) out.string(key);
        out.end_array().end_object();
        call.out.json_line(std::move(line));
        return;
    }
    if (done.changed > 0)
        call.out.line("sealed " + std::to_string(done.changed) + " keys with the master key " +
                      master);
    if (!done.unread.empty()) return;
    call.out.line(done.changed == 0
                      ? "every key is sealed with the master key " + master + " already"
                      : "servers that have not this key refuse writes: start them with it, then "
                        "destroy the old one to make old backups unreadable");
}

Result<int> rotate_keys(Invocation& call) {
    const auto to = call.arguments.get("to");
    if (!to || call.settings.encryption_key.empty())
        return fail(ErrorCode::invalid_request,
                    "pal keys rotate needs --encryption-key OLD and --to NEW");
    PAL_TRY(old, read_master_keys(call.settings.encryption_key));
    PAL_TRY(masters, read_master_keys(*to + "," + call.settings.encryption_key));
    if (old.size() == 1 && old.front().id == masters.front().id)
        return fail(ErrorCode::invalid_request,
                    "--to names the master key that is in use, " + old.front().id +
                        ": make another with `pal keys new FILE`",
                    "--to");
    PAL_TRY(inner, open_store(call.settings.store, {.create = false, .raw = true}));
    PAL_TRY(sealed, SealedStore::is_sealed(*inner));
    if (!sealed) return fail(ErrorCode::invalid_request, "this store is not encrypted");
    PAL_TRY(done, SealedStore::rotate(*inner, masters));
    print_rotation(call, done, masters.front().id);
    if (done.unread.empty()) return 0;
    return fail(ErrorCode::forbidden,
                std::to_string(done.unread.size()) +
                    " keys open with none of these master keys and stay as they are, the first of "
                    "tenant " +
                    printable(done.unread.front()) +
                    "; destroy no master key: give theirs too (--encryption-key A,B), or erase "
                    "their conversations, which `pal doctor` names");
}

Result<int> make_master(Invocation& call) {
    if (call.arguments.size() < 2)
        return fail(ErrorCode::invalid_request, "pal keys new needs the FILE for the master key");
    PAL_TRY(id, write_new_key(call.arguments[1]));
    if (call.json())
        call.out.json_line("{\"master\":\"" + id + "\"}");
    else
        call.out.line("wrote the master key " + id + " to " + printable(call.arguments[1]) +
                      "; without it an encrypted store cannot be read: keep a copy elsewhere");
    return 0;
}

struct Act {
    std::string_view name;
    Result<int> (*run)(Invocation& call);
};
constexpr Act acts[] = {{"create", create},
                        {"list", list},
                        {"revoke", revoke},
                        {"new", make_master},
                        {"rotate", rotate_keys}};

}  // namespace

extern const Flags keys_flags;
const Flags keys_flags = flags;

Result<int> run_keys(Invocation& call) {
    for (const Act& act : acts)
        if (act.name == call.arguments[0]) return act.run(call);
    return fail(ErrorCode::invalid_request,
                "pal keys create, list and revoke are about clients' keys; new and rotate about "
                "the master key of an encrypted store");
}

}  // namespace palimpsest
