#include "engine/reply_room.h"

#include <algorithm>

namespace palimpsest {
namespace {

void set_usual_reply(Budget& budget, const ModelSpec& model) {
    budget.reply_is_usual = true;
    budget.reply_field = {};
    budget.reply = std::min<std::uint64_t>(model.reply_tokens, budget.window / 2);
}

}  // namespace

void keep_reply_free(Budget& budget, JsonValue request, const ModelSpec& model) {
    set_usual_reply(budget, model);
    for (const std::string_view name :
         {"max_completion_tokens", "max_output_tokens", "max_tokens"}) {
        const auto value = request.find(name);
        const auto number = value ? value->integer() : std::nullopt;
        if (!number || *number <= 0) continue;
        budget.reply = static_cast<std::uint64_t>(*number);
        budget.reply_field = name;
        budget.reply_is_usual = false;
        return;
    }
}

void keep_reply_free(Budget& budget, std::string_view parameters, const ModelSpec& model) {
    const bool may_ask = parameters.find("max_") != std::string_view::npos;
    const auto document = parse_json(may_ask ? parameters : "{}");
    document ? keep_reply_free(budget, document->root(), model) : set_usual_reply(budget, model);
}

}  // namespace palimpsest
