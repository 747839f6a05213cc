#include "format/mend_body.h"

#include <algorithm>

#include "format/format_table.h"
#include "format/json_edit.h"
#include "palimpsest/format.h"

namespace palimpsest {
namespace {

bool breaks(FormatId format, std::string_view body, std::string_view rule) {
    const auto violations = validate_json(format, body);
    return violations &&
           std::ranges::find(*violations, rule, &Violation::rule) != violations->end();
}

}  // namespace

bool may_need_mending(FormatId format, std::string_view fields) {
    const std::span<const BodyMend> mends = format_of(format).body_mends;
    if (mends.empty()) return false;
    const auto document = parse_json(fields);
    return document && std::ranges::any_of(mends, [&](const BodyMend& mend) {
               return document->root().find(mend.field).has_value();
           });
}

std::string mend_body(FormatId format, std::string body, std::vector<std::string>& notes) {
    for (const BodyMend& mend : format_of(format).body_mends) {
        const auto document = parse_json(body);
        // Checking all of it is dear: only where the field is there.
        if (!document || !document->root().find(mend.field) || !breaks(format, body, mend.rule))
            continue;
        notes.emplace_back(mend.what);
        body = with_member(document->root(), mend.field, std::string(mend.value));
    }
    return body;
}

}  // namespace palimpsest
