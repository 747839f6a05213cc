// The tool loop: one turn from where it stands to its end. See palimpsest/chat.h for the contract.
//
// Invariant: whatever is returned, every call of every stored answer is answered in the log, but
// for calls that wait for a decision and for those of an answer that an error kept from going on,
// which the next chat() or resume() with this turn's key answers.
#pragma once
#include <map>

#include "engine/round.h"
#include "engine/run_tools.h"

namespace palimpsest {

class ToolLoop {
public:
    // `turn` is what all rounds have in common; its key must not be empty.
    ToolLoop(Memory& memory, ConversationId name, Model& model, const ChatOptions& options,
             TurnRequest turn, const Decisions& decisions = {});

    // A turn from its beginning.
    Result<ChatDone> start(std::string_view messages);
    // A turn whose last words are in the log, from `said` on, and have no answer.
    Result<ChatDone> answer(Seq said);
    // A turn that has an answer.
    Result<ChatDone> go_on(Round round);
    ~ToolLoop();  // however it ended, the next turn may begin
    ToolLoop(const ToolLoop&) = delete;
    ToolLoop& operator=(const ToolLoop&) = delete;

private:
    enum class Next : std::uint8_t { ask, end };

    Result<Round> ask(Begun begun);
    Result<Reply> call_model(Begun& begun);
    Result<Round> store_answer(Begun begun, Reply reply);
    Result<Round> again(const Begun& begun, Seq seq);

    // Answers the calls of `round`; `begun` is the next round's begin when there is one.
    Result<Next> work(const Round& round, const std::vector<PendingCall>& calls,
                      const RoundLog& log, Begun& begun);
    Result<Next> work_open(const Round& round, const std::vector<PendingCall>& open,
                           const RoundLog& log, Begun& begun);
    std::optional<CallResult> settled(const PendingCall& call, const RoundLog& log) const;
    std::optional<CallResult> decided(const PendingCall& call,
                                      Decisions::const_iterator decision) const;
    Result<std::vector<CallResult>> run_waves(const Round& round, std::vector<ReadyCall> ready,
                                              std::vector<CallResult> unwritten);
    Result<bool> note_started(const Round& round, const std::vector<CallResult>& before,
                              const std::vector<ReadyCall>& wave);
    Result<Begun> begin_round(const Round& round, const std::string& results);
    Result<Next> give_up(const Round& round, const std::vector<PendingCall>& open,
                         ChatDone::Outcome outcome, std::string_view why);
    Result<Next> suspend(const Round& round, const std::vector<CallResult>& results,
                         std::vector<PendingCall> waiting, std::size_t answered);
    Result<void> write(const std::string& results, std::string key, std::vector<NoteEntry> notes);

    void account(const Round& round, const std::vector<PendingCall>& calls);
    std::optional<ChatDone::Outcome> limit() const;
    bool nudged() const;
    bool waits(const PendingCall& call) const;
    // One of them is a call of a tool that ends the turn, and could run.
    bool ended_by(const std::vector<PendingCall>& calls) const;
    const Tool* find_tool(std::string_view name) const;
    void hold(const Begun& begun);
    bool tell(const ChatEvent& event);
    bool tell_piece(const StreamDelta& delta, std::map<std::size_t, std::string>& names);
    void tell_compaction(const Begun& begun);
    bool stopping() const { return stopped_ || options_.stop.stop_requested(); }
    std::string key_of(const Round& round, std::string_view what) const;
    Result<ChatDone> finish(const Round& round);

    Memory& memory_;
    ConversationId name_;
    Model& model_;
    const ChatOptions& options_;
    TurnRequest turn_;
    const Decisions& decisions_;
    std::vector<Tool> tools_;
    ChatDone done_;
    std::string last_calls_;
    std::size_t repeats_ = 0;  // rounds in a row that made last_calls_
    bool stopped_ = false;
    Begun held_;  // what it may hold: name, turn and `exclusive`
};

}  // namespace palimpsest
