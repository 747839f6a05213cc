#include "engine/reply_room.h"

#include <algorithm>

namespace palimpsest {
namespace {

std::uint64_t reply_asked(JsonValue request) {
    for (const std::string_view name : {"max_completion_tokens", "max_output_tokens", "max_tokens"})
        if (const auto value = request.find(name))
            if (const auto number = value->integer(); number && *number > 0)
                return static_cast<std::uint64_t>(*number);
    return 0;
}

void set_reply(Budget& budget, std::uint64_t asked, const ModelSpec& model) {
    budget.reply_is_usual = asked == 0;
    budget.reply =
        asked > 0 ? asked : std::min<std::uint64_t>(model.reply_tokens, budget.window / 2);
}

}  // namespace

void keep_reply_free(Budget& budget, JsonValue request, const ModelSpec& model) {
    set_reply(budget, reply_asked(request), model);
}

void keep_reply_free(Budget& budget, std::string_view parameters, const ModelSpec& model) {
    const bool may_ask = parameters.find("max_") != std::string_view::npos;
    const auto document = parse_json(may_ask ? parameters : "{}");
    set_reply(budget, document ? reply_asked(document->root()) : 0, model);
}

}  // namespace palimpsest
