// search: any word ever said, with the words marked and where to look further. reindex: makes the
// index anew from the log.
#include "palimpsest/search.h"

#include <cstdio>

#include "base/time.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "engine/present_search.h"
#include "net/url.h"

namespace palimpsest {
namespace {

constexpr Flag search_flag_rows[] = {
    {"in", "ID", "Only this conversation."},
    {"owner", "NAME", "Only conversations of this owner."},
    {"role", "ROLE", "Only what this role said: user, assistant, tool, system, other."},
    {"tool", "NAME", "Only calls and results of this tool."},
    {"after", "TIME", "Said at this time or later, as 2026-01-31T09:30:00Z."},
    {"before", "TIME", "Said before this time."},
    {"meta", "KEY=VALUE", "Only conversations whose metadata has this; may be repeated.", true},
    {"in-view", "", "Only what the model is still sent as it was said."},
    {"out-of-view", "", "Only what it is not sent any more."},
    {"limit", "N", "How many results, at most 1000; 10 unless given."},
    {"offset", "N", "Leave out so many of the best, at most 10000."},
    {"mode", "MODE", "lexical, vector or hybrid."},
    {"explain", "", "Show what the score is made of."},
};
constexpr Flag reindex_flag_rows[] = {
    {"new-only", "", "Keep what is indexed, add what is new."},
};

Result<std::optional<Time>> time_flag(const Arguments& arguments, std::string_view flag) {
    const auto text = arguments.get(flag);
    if (!text) return std::optional<Time>();
    PAL_TRY(time, parse_time(*text));
    return std::optional<Time>(time);
}

Result<std::optional<Role>> role_flag(const Arguments& arguments) {
    const auto name = arguments.get("role");
    if (!name) return std::optional<Role>();
    for (const Role role : {Role::system, Role::user, Role::assistant, Role::tool, Role::other})
        if (role_name(role) == *name) return std::optional<Role>(role);
    return fail(
        ErrorCode::invalid_request,
        "--role \"" + clipped(*name, 40) + "\" is not one of: system, user, assistant, tool, other",
        "--role");
}

Result<std::optional<SearchMode>> mode_flag(const Arguments& arguments) {
    const auto name = arguments.get("mode");
    if (!name) return std::optional<SearchMode>();
    const auto mode = parse_search_mode(*name);
    if (!mode)
        return fail(ErrorCode::invalid_request,
                    "--mode \"" + clipped(*name, 40) + "\" is not one of: lexical, vector, hybrid",
                    "--mode");
    return mode;
}

Result<SearchRequest> request_of(const Invocation& call) {
    SearchRequest request;
    request.tenant = call.settings.tenant;
    for (const std::string& word : call.arguments.from(0))
        request.query += (request.query.empty() ? "" : " ") + word;
    request.conversation_id = call.arguments.get("in");
    request.owner = call.arguments.get("owner");
    request.tool = call.arguments.get("tool").value_or("");
    PAL_TRY(role, role_flag(call.arguments));
    PAL_TRY(after, time_flag(call.arguments, "after"));
    PAL_TRY(before, time_flag(call.arguments, "before"));
    PAL_TRY(metadata, parse_pairs(call.arguments.all("meta")));
    PAL_TRY(limit, parse_count(call.arguments, "limit", 10, 1000, 0));
    PAL_TRY(offset, parse_count(call.arguments, "offset", 0, 10'000, 0));
    PAL_TRY(mode, mode_flag(call.arguments));
    request.role = role;
    request.after = after;
    request.before = before;
    request.metadata = std::move(metadata);
    request.limit = limit;
    request.offset = offset;
    request.mode = mode;
    const bool in = call.arguments.has("in-view"), out = call.arguments.has("out-of-view");
    if (in && out)
        return fail(ErrorCode::invalid_request, "--in-view and --out-of-view exclude each other");
    if (in || out) request.in_view = in;
    return request;
}

std::string counted(std::uint64_t count, std::string_view what) {
    return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

// The marks are put around text that was made safe, or they would be taken for its own.
std::string shown_snippet(const Output& out, const SearchHit& hit) {
    std::string text;
    std::size_t at = 0;
    for (const auto& [begin, end] : hit.marks) {
        text += printable(hit.snippet.substr(at, begin - at));
        const std::string word = printable(hit.snippet.substr(begin, end - begin));
        text += out.is_terminal() ? out.styled(Style::bold, word) : "\u00ab" + word + "\u00bb";
        at = end;
    }
    return text + printable(hit.snippet.substr(at));
}

// As a shell takes it for one word.
std::string shell_word(std::string_view text) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,";
    if (!text.empty() && text.find_first_not_of(plain) == text.npos) return std::string(text);
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

// The command that shows what stood around a hit, for the store that was searched. A password is
// not repeated: who copies the line puts it in again.
std::string further(const Invocation& call, const SearchHit& hit) {
    std::string command = "pal log ";
    for (const std::string_view flag : {"config", "store", "tenant", "encryption-key"})
        if (const auto value = call.arguments.get(flag))
            command += "--" + std::string(flag) + " " +
                       shell_word(flag == "store" ? without_password(*value) : *value) + " ";
    const std::string at = "--at " + std::to_string(hit.seq.value);
    const std::string id = shell_word(hit.name.id);
    return command + (id.starts_with('-') ? at + " -- " + id : id + " " + at);
}

// What is said when there is no hit.
std::string nothing(const SearchRequest& request, const SearchPage& page) {
    if (request.limit == 0) return "nothing is shown with --limit 0";
    if (request.query.empty()) return "nothing was asked for";
    return "nothing found in " + counted(page.conversations, "conversation");
}

void print_hit(Invocation& call, const SearchHit& hit) {
    char score[32];
    std::snprintf(score, sizeof score, "%.2f", hit.score);
    const std::string where = printable(hit.name.id) + "  " + std::to_string(hit.seq.value) + "  " +
                              std::string(role_name(hit.message.shape.role)) + "  " +
                              format_time(hit.at) + "  " + score +
                              (hit.in_view ? "" : "  out of view");
    call.out.line(call.out.styled(Style::dim, where));
    call.out.line("  " + shown_snippet(call.out, hit));
    if (!call.arguments.has("explain")) return;
    std::string parts = "  ";
    for (const ScorePart& part : hit.parts) {
        std::snprintf(score, sizeof score, "%.2f", part.value);
        parts += std::string(part.name) + " " + score + "  ";
    }
    call.out.line(call.out.styled(Style::dim, parts));
}

}  // namespace

extern const Flags search_flags, reindex_flags;
const Flags search_flags(search_flag_rows), reindex_flags(reindex_flag_rows);

Result<int> run_search(Invocation& call) {
    PAL_TRY(request, request_of(call));
    PAL_TRY(page, call.memory->search(request));
    for (const std::string& warning : page.warnings)
        std::fprintf(stderr, "pal: %s\n", warning.c_str());
    for (const SearchHit& hit : page.hits) {
        if (call.json())
            print_json(
                call.out,
                [&](JsonWriter& out, const SearchHit& one) {
                    write_search_hit(out, one, call.arguments.has("explain"));
                },
                hit);
        else
            print_hit(call, hit);
    }
    if (!call.json() && !page.hits.empty())
        call.out.line(call.out.styled(
            Style::dim, "look further: " + printable(further(call, page.hits.front()))));
    if (!call.json() && page.hits.empty()) call.out.line(nothing(request, page));
    return 0;
}

Result<int> run_reindex(Invocation& call) {
    ProgressBar bar("reindex");
    ReindexRequest request;
    request.tenant = call.settings.tenant;
    request.from_scratch = !call.arguments.has("new-only");
    request.progress = [&](std::uint64_t done, std::uint64_t all) { bar.show(done, all); };
    auto done = call.memory->reindex(request);
    bar.clear();
    if (!done) return std::unexpected(done.error());
    for (const std::string& warning : done->warnings)
        std::fprintf(stderr, "pal: %s\n", warning.c_str());
    if (call.json()) {
        std::string text;
        JsonWriter out(text);
        out.begin_object().key("conversations").number(done->conversations);
        out.key("messages").number(done->messages).key("words").number(done->words);
        out.key("bytes").number(done->bytes).key("vectors").number(done->vectors).end_object();
        call.out.json_line(std::move(text));
        return 0;
    }
    call.out.line(counted(done->messages, "message") + " of " +
                  counted(done->conversations, "conversation") + ", " +
                  counted(done->words, "word") +
                  (done->vectors ? ", " + counted(done->vectors, "vector") : ""));
    return 0;
}

}  // namespace palimpsest
