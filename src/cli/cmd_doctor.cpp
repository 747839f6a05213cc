// doctor: reads everything in a store and says what is wrong with it. Exit status 1 when something
// is.
#include "cli/command.h"
#include "engine/present.h"

namespace palimpsest {
namespace {

// Every conversation must give a view; what does not is a finding, and the rest is still looked at.
Result<void> check_views(Invocation& call, CheckReport& report) {
    ListQuery query{.tenant = call.settings.tenant, .sort = SortBy::created};
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

void print_report(Output& out, const CheckReport& report, const Durability& durability) {
    out.line("logs " + std::to_string(report.logs) + ", entries " + std::to_string(report.entries) +
             ", records " + std::to_string(report.records));
    out.line("durability: " + printable(durability.level) +
             (durability.power_cut        ? ", survives a power cut"
              : durability.process_killed ? ", survives a killed process, not a power cut"
                                          : ", gone with the process"));
    for (const Finding& finding : report.findings)
        out.line(printable(finding.what) + ": " + printable(finding.where) + ": " +
                 printable(finding.message));
    out.line(report.findings.empty() ? "nothing is wrong"
                                     : std::to_string(report.findings.size()) + " findings");
}

}  // namespace

Result<int> run_doctor(Invocation& call) {
    const std::string tenants[] = {call.settings.tenant};
    PAL_TRY(report, call.memory->store().check(tenants));
    if (const auto views = check_views(call, report); !views)
        report.findings.push_back({"list", call.settings.tenant, views.error().message});
    if (call.json())
        print_json(call.out, write_check_report, report);
    else
        print_report(call.out, report, call.memory->store().durability());
    return report.findings.empty() ? 0 : 1;
}

}  // namespace palimpsest
