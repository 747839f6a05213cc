// doctor: reads everything in a store and says what is wrong with it. Exit status 1 when something
// is. A store that does not open is looked into all the same.
#include <algorithm>

#include "cli/command.h"
#include "cli/open.h"
#include "engine/present.h"
#include "server/kept_words.h"
#include "store/files_mend.h"
#include "store/sqlite_inspect.h"

namespace palimpsest {
namespace {

constexpr Flag flags[] = {
    {"repair", "", "First mends what is safe: indexes made anew, files of nothing removed."},
};

// Every conversation must give a view; what does not is a finding, and the rest is still looked at.
Result<void> check_views(Invocation& call, const std::string& tenant, CheckReport& report) {
    ListQuery query{.tenant = tenant, .sort = SortBy::created};
    do {
        PAL_TRY(page, call.memory->list(query));
        for (const Header& header : page.headers) {
            const Result<View> view = call.memory->view(header.name);
            if (!view && view.error().code != ErrorCode::not_found)
                report.findings.push_back({"view", header.name.id, view.error().message});
        }
        query.after = page.next;
    } while (!query.after.empty());
    return {};
}

// Whoever reads this has run it already.
std::string without_advice(std::string message) {
    for (const std::string_view advice : {"; run `pal doctor`", "; `pal doctor` lists"})
        message.resize(std::min(message.find(advice), message.size()));
    return message;
}

// What the level means; where it says that something is unknown, no more than that is known.
std::string_view survives(const Durability& durability) {
    if (durability.level.find("unknown") != std::string::npos) return "";
    if (durability.power_cut) return ", survives a power cut";
    return durability.process_killed ? ", survives a killed process, not a power cut"
                                     : ", gone with the process";
}

void print_report(Output& out, const CheckReport& report, const Durability* durability) {
    out.line("logs " + std::to_string(report.logs) + ", entries " + std::to_string(report.entries) +
             ", records " + std::to_string(report.records));
    if (durability)
        out.line("durability: " + printable(durability->level) +
                 std::string(survives(*durability)));
    for (const Finding& finding : report.findings)
        out.line(printable(finding.what) + ": " + printable(finding.where) + ": " +
                 printable(finding.message));
    const auto faults = std::ranges::count_if(
        report.findings, [](const Finding& finding) { return finding.what != "readable"; });
    out.line(faults == 0 ? "nothing is wrong" : std::to_string(faults) + " findings");
}

void print_report_json(Output& out, const CheckReport& report, const Durability* durability) {
    std::string line, kept;
    JsonWriter writer(line);
    write_check_report(writer, report);
    JsonWriter level(kept);
    level.begin_object();
    if (durability) {
        level.field("level", durability->level);
        level.key("process_killed").boolean(durability->process_killed);
        level.key("power_cut").boolean(durability->power_cut);
    }
    level.end_object();
    // In front of the report's own fields; null where the store could not be opened.
    line.insert(1, "\"durability\":" + (durability ? kept : "null") + ",");
    out.json_line(std::move(line));
}

int finish(Invocation& call, CheckReport report, const Durability* durability) {
    for (Finding& finding : report.findings)
        finding.message = without_advice(std::move(finding.message));
    if (call.json())
        print_report_json(call.out, report, durability);
    else
        print_report(call.out, report, durability);
    return report.findings.empty() ? 0 : 1;
}

// The file is there and nobody else has it, but it is no whole store.
bool may_be_damaged(const Error& error) {
    return error.code == ErrorCode::internal || error.code == ErrorCode::invalid_request ||
           error.code == ErrorCode::unprocessable;
}

bool may_be_mended(const std::string& url, const Error& error) {
    return error.code == ErrorCode::internal && url.starts_with("files:");
}

// A files store says by itself what does not let it open; the rest may be whole.
Result<int> inspect_folder(Invocation& call, const Error& why) {
    if (why.code != ErrorCode::internal) return std::unexpected(why);
    auto looked = inspect_files(call.settings.store);
    CheckReport report = looked ? *std::move(looked) : CheckReport{};
    if (!looked) report.findings.push_back({"unread", call.settings.store, looked.error().message});
    report.findings.insert(report.findings.begin(), {"damaged", call.settings.store, why.message});
    return finish(call, std::move(report), nullptr);
}

Result<int> inspect(Invocation& call, const Error& why) {
    const std::string& url = call.settings.store;
    if (url.starts_with("files:")) return inspect_folder(call, why);
    if (!may_be_damaged(why) || !url.starts_with("sqlite:")) return std::unexpected(why);
    Result<CheckReport> report = inspect_sqlite(url);
    if (!report && report.error().code == ErrorCode::not_found) return std::unexpected(why);
    if (!report) return std::unexpected(report.error());
    const bool foreign = report->findings.size() == 1 && report->findings[0].what == "foreign";
    if (!foreign || why.code == ErrorCode::unprocessable)
        report->findings.insert(report->findings.begin(), {"unopenable", url, why.message});
    return finish(call, *std::move(report), nullptr);
}

}  // namespace

extern const Flags doctor_flags;
const Flags doctor_flags = flags;

Result<int> run_doctor(Invocation& call) {
    const bool repair = call.arguments.has("repair");
    std::vector<Finding> mended;
    auto memory = open_memory(call.settings, {.create = false});
    if (!memory && repair && may_be_mended(call.settings.store, memory.error())) {
        PAL_TRY(done, mend_files(call.settings.store));
        mended = std::move(done);
        memory = open_memory(call.settings, {.create = false});
    }
    if (!memory) return inspect(call, memory.error());
    call.memory.emplace(*std::move(memory));
    Store& store = call.memory->store();
    // All tenants, unless one is named.
    std::vector<std::string> tenants;
    if (call.arguments.has("tenant")) tenants.push_back(call.settings.tenant);
    PAL_TRY(report, repair ? store.repair(tenants) : store.check(tenants));
    if (repair) PAL_CHECK(purge_gone(store));
    report.findings.insert(report.findings.begin(), mended.begin(), mended.end());
    if (tenants.empty()) {
        auto contents = store.contents();
        tenants = contents ? std::move(contents->tenants) : std::vector{call.settings.tenant};
    }
    for (const std::string& tenant : tenants)
        if (const auto views = check_views(call, tenant, report); !views)
            report.findings.push_back({"list", tenant, views.error().message});
    const Durability durability = store.durability();
    return finish(call, std::move(report), &durability);
}

}  // namespace palimpsest
