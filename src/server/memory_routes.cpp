// memory_routes: what a conversation's memory is set to, what it holds beside messages, and what
// was left out of the view.
#include <algorithm>

#include "core/policy.h"
#include "engine/present.h"
#include "engine/recall.h"
#include "palimpsest/format.h"
#include "server/paging.h"
#include "server/request_meters.h"
#include "server/rest.h"
#include "server/tracer.h"

namespace palimpsest {
namespace {

std::optional<Seq> seq_of(const Query& query, std::string_view name) {
    const auto number = query.number(name);
    return number ? std::optional(Seq{*number}) : std::nullopt;
}

// {"conversation_id","memory_strategy","expanded"}: the object as it was set; with `expand` the
// general form that it is a name for.
Result<RouteReply> strategy_reply(const Header& header, bool expand) {
    RouteReply reply{.etag = header.end};
    JsonWriter out(reply.body);
    out.begin_object().field("conversation_id", header.name.id).key("memory_strategy");
    out.raw(policy_json(header.policy));
    if (expand) {
        out.key("expanded");
        if (header.policy.empty()) {
            out.null();
        } else {
            PAL_TRY(general, expand_policy(header.policy));
            out.raw(general);
        }
    }
    out.end_object();
    return reply;
}

std::string strategy_of(const Header& header) {
    return header.policy.empty() ? std::string() : policy_json(header.policy);
}

}  // namespace

Result<RouteReply> get_strategy(Call& call) {
    PAL_TRY(header, call.site.memory.head(call.name()));
    return strategy_reply(header, call.query.flag("expand"));
}

// Only the fields in the body change, null takes one out. Tried again when another change of the
// header came in between.
Result<RouteReply> patch_strategy_of(Call& call) {
    constexpr int attempts_max = 8;
    for (int tries = 1;; ++tries) {
        PAL_TRY(header, call.site.memory.head(call.name()));
        PAL_TRY(strategy, patch_strategy(strategy_of(header), call.json->root().raw()));
        HeaderPatch patch;
        patch.policy = std::move(strategy);
        const auto done =
            call.site.memory.patch(call.name(), patch, header.revision, call.if_match);
        if (done) return strategy_reply(*done, call.query.flag("expand"));
        const bool moved = call.if_match && *call.if_match != header.end;
        if (done.error().code != ErrorCode::conflict || tries == attempts_max || moved)
            return std::unexpected(blame(done.error(), call, ""));
    }
}

Result<RouteReply> list_summaries(Call& call) {
    PAL_TRY(all, call.site.memory.summaries(call.name()));
    const auto id = [](const auto& summary) { return std::to_string(summary.seq.value); };
    PAL_TRY(page, find_page(call.query, all.size(), place_by_id(all, id)));
    return write_rows(
        page, {}, [&](std::size_t i) { return id(all[i]); },
        [&](JsonWriter& out, std::size_t i) { write_summary(out, all[i]); });
}

Result<RouteReply> store_summary(Call& call) {
    const Range range{Seq{*call.number("from")}, Seq{*call.number("to")}};
    const auto done =
        call.site.memory.summarize(call.name(), range, *call.text("text"), call.write());
    if (!done) return std::unexpected(blame(done.error(), call, ""));
    RouteReply reply{.etag = done->seq};
    JsonWriter out(reply.body);
    write_compaction(out, *done);
    return reply;
}

Result<RouteReply> repeat_summary(Call& call, Seq seq) {
    PAL_TRY(told, call.site.memory.find_compaction(call.name(), seq));
    RouteReply reply{.etag = seq};
    JsonWriter out(reply.body);
    write_compaction(out, told);
    return reply;
}

Result<RouteReply> get_breakdown(Call& call) {
    const std::string model(call.query.text("model").value_or(""));
    PAL_TRY(breakdown, call.site.memory.breakdown(call.name(), {.model = model}));
    RouteReply reply;
    JsonWriter out(reply.body);
    write_breakdown(out, breakdown);
    return reply;
}

// Of this conversation at `at` and another one, or the same, at `with_at`.
Result<RouteReply> get_diff(Call& call) {
    const std::string other(call.query.text("with").value_or(call.ids.at(0)));
    PAL_TRY(a, call.site.memory.view(call.name(), {.at = seq_of(call.query, "at")}));
    PAL_TRY(
        b, call.site.memory.view({call.site.tenant, other}, {.at = seq_of(call.query, "with_at")}));
    RouteReply reply;
    JsonWriter out(reply.body);
    write_diff(out, diff_views(a, b));
    return reply;
}

namespace {

std::string recalled_id(const Recalled& one) {
    return std::to_string(one.seq.value);
}

// Few seqs at a time, more where nothing may be shown: what is beyond the page is not read.
// True: there are more.
Result<bool> write_range(Call& call, Range left, const LogPage& page, ListReply& list) {
    ReadSteps steps;
    std::size_t rows = page.limit;
    for (std::uint64_t wide = 1; !left.empty();) {
        const std::uint64_t count = steps.next(left.to.value - left.from.value + 1);
        Range part = left;
        if (page.newest_first)
            part.from = std::max(left.from, left.to - (count * wide - 1));
        else
            part.to = std::min(left.to, left.from + (count * wide - 1));
        auto found = call.site.memory.recall(call.name(), {.range = part, .limit = count * wide});
        if (!found && found.error().code != ErrorCode::not_found)
            return std::unexpected(std::move(found).error());
        wide = found ? 1 : std::min<std::uint64_t>(2 * wide, 16);
        if (found && page.newest_first) std::ranges::reverse(*found);
        for (const Recalled& one : found ? *found : std::vector<Recalled>()) {
            if (rows == 0 || !list.has_room()) return true;
            write_recalled(list.row(recalled_id(one)), one);
            --rows;
        }
        page.newest_first ? left.to = part.from - 1 : left.from = part.to + 1;
    }
    return false;
}

Result<RouteReply> recall_range(Call& call, Range range) {
    PAL_TRY(page, find_log_page(call.query));
    PAL_TRY(header, call.site.memory.head(call.name()));
    // Of a range where nothing may be shown it is said why.
    const bool whole = page.range == Range{Seq{1}, seq_max};
    ListReply list(page.from);
    const Range left{std::max(range.from, page.range.from),
                     std::min({range.to, page.range.to, header.end})};
    PAL_TRY(more, write_range(call, left, page, list));
    if (whole && list.empty())
        PAL_CHECK(call.site.memory.recall(call.name(), {.range = range, .limit = 1}));
    return list.end(more);
}

Result<RouteReply> recall_few(Call& call, RecallQuery query) {
    query.limit = 1000;
    PAL_TRY(found, call.site.memory.recall(call.name(), query));
    PAL_TRY(page, find_page(call.query, found.size(), place_by_id(found, recalled_id)));
    return write_rows(
        page, {}, [&](std::size_t i) { return recalled_id(found[i]); },
        [&](JsonWriter& out, std::size_t i) { write_recalled(out, found[i]); });
}

}  // namespace

// By the id of a call, or by a seq or a range "4..9" where no call has such an id.
Result<RouteReply> recall_messages(Call& call) {
    PAL_TRY(query, recall_query(call.ids.at(1)));
    const Range range = query.range;
    const bool many = range.from > Seq{} && range.from < range.to;
    return many ? recall_range(call, range) : recall_few(call, std::move(query));
}

Result<RouteReply> get_recall_tool(Call& call) {
    const auto name = call.query.text("format");
    FormatId format = FormatId::openai_chat;
    if (name) {
        PAL_TRY(known, parse_format_name(*name));
        format = known;
    }
    return RouteReply{.body = recall_tool(format)};
}

Result<RouteReply> get_metrics(Call& call) {
    const Tracer* const tracer = call.site.tracer.get();
    return RouteReply{.body = call.site.memory.metrics() + call.site.meters->text() +
                              (tracer ? tracer->metrics() : ""),
                      .type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace palimpsest
