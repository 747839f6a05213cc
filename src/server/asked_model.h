// asked_model: a model as one caller asks it: within what its key may ask, on its budget, and in
// the trace of its request. The one way from a route to a model.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "palimpsest/model.h"
#include "server/request_trace.h"
#include "server/route.h"

namespace palimpsest {

// The model of that name (empty: the first one). not_found where there is none, `forbidden` where
// the caller's key may not ask it. It may outlive the call, not the site.
Result<std::shared_ptr<Model>> choose_model(Call& call, std::string_view name);

// `forbidden` where the caller's key may not ask the model of that name.
Result<void> check_may_ask(const Call& call, std::string_view name);

// The budget of a caller whose request may be a repeat (retry_key.h): used up, it asks no model and
// stores nothing, but a turn that was answered is told again. `keyed`: the turn, in the places
// where it can stand. rate_limited, which is_over_budget().
struct KeyedTurn {
    ConversationId name = {};
    std::string key = {};
};
Result<void> check_paid(const Call& call, std::span<const KeyedTurn> keyed);
bool is_over_budget(const Error& error);

// For whatever a caller does that may have summaries written: within what its key may ask, while
// its budget lasts, and on that budget. The store is used as long as they are.
SummaryTerms summary_terms(const Call& call);
// Memory::begin for the caller: traced, on these terms, and not behind an
// erase of what the same Idempotency-Key said before (replay.h).
Result<Begun> begin_for(const Call& call, const ConversationId& name, BeginRequest request);

// The tokens of a request's body, counted as the model does: by the row of the settings or the
// table for that name, or else for its name at its server. An estimate where its vocabulary is not
// public.
Result<std::uint64_t> count_for_model(const Call& call, std::string_view name, const Model* model,
                                      FormatId format, std::string_view body);

}  // namespace palimpsest
