// What begin, shrink and finish share: the parts of one turn.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/compactor.h"
#include "engine/input.h"
#include "engine/load.h"
#include "engine/storing.h"

namespace palimpsest {

// What a request brings, apart.
struct Opening {
    std::vector<Message> preamble = {};
    std::vector<Said> said = {};
};

// Where a conversation stands before something is written behind it.
struct Footing {
    HotViewPtr view = {};  // its header is the conversation's; without a log when there is none
    CallState calls = {};
    bool guessed = false;  // not asked of the store: the write must fail unless it is true
};
Result<Footing> footing_of(Memory::State& state, const Header& header);  // a fresh one
Result<Footing> find_footing(Memory::State& state, const ConversationId& name, bool may_guess);

// The batch fails unless the conversation still stands so, but for a different end if that is free.
void expect_footing(Batch& batch, const Header& header);

// A due compaction as drafts of the batch that writes `unwritten` messages before it.
Result<void> add_compaction(Memory::State& state, const Header& header, const Planned& planned,
                            Cause cause, const std::vector<Said>& unwritten,
                            std::vector<Draft>& drafts);

// Keeps what is known now, once it is stored: the view behind the batch, and the calls. `storing`:
// null, it is.
Result<View> settle(Memory::State& state, const Footing& before, const CallState& calls,
                    const Appended& appended, std::span<const Draft> written,
                    Storing* storing = nullptr);

// The answer that an earlier attempt of this turn stored behind what it wrote, if it came that far.
Result<void> add_answer(Store& store, const Header& header, Seq written, Begun& begun);

// After an answer: what the provider's cache did. A warning, or "".
std::string note_usage(Memory::State& state, const Begun& begun, const Usage& usage,
                       CallState& calls);

std::optional<double> cost_of_usage(const Memory::State& state, std::string_view model,
                                    const Usage& usage);

// Whether the answer asks for tools: its turn goes on.
bool has_calls(const Message& message, const std::vector<Message>& earlier);

// What follows from an answer that was stored: the hot view, warnings, work for the background.
void after_answer(Memory::State& state, const Begun& begun, const Answer& answer,
                  const Appended& done, std::span<const Draft> written, Finished& finished);

// The view as it would be sent within the options' window or model. budget_unreachable when it
// cannot be made to fit.
Result<View> preview_view(Memory::State& state, const View& view, const ViewOptions& options);

// A due summary as a job of the background; one for each conversation at a time.
Result<void> put_job(Memory::State& state, const Header& header, std::string_view policy,
                     std::string_view model);

// Which summary of another conversation this one is to be given: the one that it was given before,
// or for a new one the newest of the same owner, within the policy's limits. See injection.cpp.
Result<std::optional<SummarySource>> choose_source(Memory::State& state, const Header& header,
                                                   const CallState& calls, const Policy& policy);
// Makes the last fold of these edits the owner's newest summary.
Result<void> keep_newest_summary(Memory::State& state, const Header& header, Seq seq,
                                 const std::vector<Edit>& edits);

}  // namespace palimpsest
