// What the tool loop keeps track of: usage, limits, repeated calls, and what it tells.
#include <algorithm>

#include "engine/tool_loop.h"
#include "engine/usage_totals.h"

namespace palimpsest {
namespace {

using Outcome = ChatDone::Outcome;

}  // namespace

void ToolLoop::account(const Round& round, const std::vector<PendingCall>& calls) {
    ++done_.rounds;
    add_usage(done_.usage, round.usage);
    if (round.cost) done_.cost = done_.cost.value_or(0) + *round.cost;
    for (const std::string& warning : round.begun.warnings) done_.warnings.push_back(warning);
    for (const std::string& warning : round.finished.warnings) done_.warnings.push_back(warning);
    std::string line = canonical_calls(calls);
    repeats_ = line == last_calls_ ? repeats_ + 1 : 1;
    last_calls_ = std::move(line);
}

std::optional<Outcome> ToolLoop::limit() const {
    if (done_.rounds >= options_.rounds_max) return Outcome::rounds_exceeded;
    if (options_.cost_max && done_.cost.value_or(0) >= *options_.cost_max)
        return Outcome::cost_exceeded;
    if (options_.identical_calls_max > 0 && repeats_ > options_.identical_calls_max + 1)
        return Outcome::identical_calls;
    return std::nullopt;
}

bool ToolLoop::nudged() const {
    return options_.identical_calls_max > 0 && repeats_ > options_.identical_calls_max;
}

const Tool* ToolLoop::find_tool(std::string_view name) const {
    const auto tool = std::ranges::find(tools_, name, &Tool::name);
    return tool == tools_.end() ? nullptr : &*tool;
}

bool ToolLoop::tell(const ChatEvent& event) {
    if (options_.on_event && !options_.on_event(event)) stopped_ = true;
    return !stopping();
}

// `names`: of the calls that have begun.
bool ToolLoop::tell_piece(const StreamDelta& delta, std::map<std::size_t, std::string>& names) {
    ChatEvent event{.kind = ChatEvent::Kind::text, .round = done_.rounds + 1, .text = delta.text};
    switch (delta.kind) {
        case StreamDelta::Kind::text:
        case StreamDelta::Kind::refusal:
            return tell(event);
        case StreamDelta::Kind::reasoning:
            event.kind = ChatEvent::Kind::reasoning;
            return tell(event);
        case StreamDelta::Kind::call:
            names[delta.index] = delta.name;
            return !stopping();
        case StreamDelta::Kind::arguments:
            event.kind = ChatEvent::Kind::arguments;
            event.name = names[delta.index];
            return tell(event);
    }
    return !stopping();
}

void ToolLoop::tell_compaction(const Begun& begun) {
    if (!begun.compaction) return;
    tell({.kind = ChatEvent::Kind::compaction,
          .round = done_.rounds + 1,
          .compaction = &*begun.compaction});
}

std::string ToolLoop::key_of(const Round& round, std::string_view what) const {
    return done_.key + "/r" + std::to_string(round.seq.value) + std::string(what);
}

}  // namespace palimpsest
