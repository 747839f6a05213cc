#include "core/resend.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/assert.h"

namespace palimpsest {
namespace {

// Bounds for histories that say the same thing over and over.
constexpr std::size_t places_max = 64;
constexpr std::size_t run_max = 4096;

struct Hash {
    std::size_t operator()(const Fingerprint& print) const { return print.low ^ print.high; }
};
// Where the log says it, newest first.
using Places = std::unordered_map<Fingerprint, std::vector<std::size_t>, Hash>;

Places find_places(std::span<const KnownMessage> log) {
    Places places;
    for (std::size_t i = log.size(); i-- > 0;)
        if (log[i].fingerprint != Fingerprint{}) places[log[i].fingerprint].push_back(i);
    return places;
}

bool says_the_same(const KnownMessage& known, const ResentMessage& sent) {
    if (known.fingerprint == Fingerprint{}) return known.role == sent.role;
    return known.fingerprint == sent.fingerprint;
}

struct Run {
    std::size_t length = 0;
    bool answered = false;  // an assistant's message is in it
    bool asked = false;     // a user's words that the log still knows are in it
};

class Search {
public:
    Search(std::span<const KnownMessage> log, std::span<const ResentMessage> incoming,
           std::size_t first)
        : log_(log), incoming_(incoming), first_(first), places_(find_places(log)) {}

    Resend run() const {
        const auto whole = as_whole();
        if (whole && !takes_words_back(*whole)) return *whole;
        if (const auto end = as_end(whole.has_value())) return *end;
        if (whole) return *whole;
        const std::size_t answer = first_answer();
        for (std::size_t i = incoming_.size(); i-- > answer;)
            if (const auto anchor = anchor_of(i)) return anchored(i, *anchor);
        const Resend open = without_anchor();
        if (open.anchor) return open;
        return as_edited_start().value_or(open);
    }

private:
    // No run that ends before it holds an assistant's message.
    std::size_t first_answer() const {
        const auto found = std::ranges::find(incoming_, Role::assistant, &ResentMessage::role);
        return std::max(first_, static_cast<std::size_t>(found - incoming_.begin()));
    }

    // The run of equal messages that ends at both places.
    Run run_at(std::size_t sent, std::size_t known) const {
        Run run;
        while (run.length < run_max && run.length <= sent - first_ && run.length <= known) {
            const KnownMessage& one = log_[known - run.length];
            if (!says_the_same(one, incoming_[sent - run.length])) break;
            run.answered |= one.role == Role::assistant;
            run.asked |= one.role == Role::user && one.fingerprint != Fingerprint{};
            ++run.length;
        }
        return run;
    }

    struct Anchor {
        std::size_t known = 0;
        std::size_t length = 0;  // of the run that ends there
    };

    // All of the log comes again, or it goes no further than the client does.
    std::optional<Resend> as_whole() const {
        const std::size_t most = std::min(incoming_.size() - first_, log_.size());
        std::size_t same = 0;
        bool answered = false;
        for (; same < most && says_the_same(log_[same], incoming_[first_ + same]); ++same)
            answered |= log_[same].role == Role::assistant;
        if (same == 0 || same < most || !answered) return std::nullopt;
        return anchored(first_ + same - 1, {same - 1, same});
    }

    // The log's last messages, then what is new. `surely`: by words, since a message that lost its
    // content is like any other of its role.
    std::optional<Resend> as_end(bool surely) const {
        if (log_.empty()) return std::nullopt;
        const std::size_t last = log_.size() - 1;
        if (surely && log_[last].fingerprint == Fingerprint{}) return std::nullopt;
        for (std::size_t i = incoming_.size(); i-- > first_;) {
            if (!says_the_same(log_[last], incoming_[i])) continue;
            const Run run = run_at(i, last);
            if (run.answered && (run.asked || !surely) && run.length == i - first_ + 1)
                return anchored(i, {last, run.length});
        }
        return std::nullopt;
    }

    // What the log begins with, then other answers than it has: the first one was edited. Words
    // that the log says again further down may be those, and tell nothing.
    std::optional<Resend> as_edited_start() const {
        const std::size_t most = std::min(incoming_.size() - first_, log_.size());
        std::size_t same = 0;
        while (same < most && log_[same].fingerprint == incoming_[first_ + same].fingerprint)
            ++same;
        const bool answered = first_answer() < incoming_.size();
        if (same == 0 || !answered || log_[same - 1].left_out ||
            places_.at(log_.front().fingerprint).size() > 1)
            return std::nullopt;
        return anchored(first_ + same - 1, {same - 1, same});
    }

    std::optional<Anchor> anchor_of(std::size_t sent) const {
        const auto places = places_.find(incoming_[sent].fingerprint);
        if (places == places_.end()) return std::nullopt;
        Anchor best;
        const std::size_t count = std::min(places->second.size(), places_max);
        for (std::size_t i = 0; i < count; ++i) {
            const Run run = run_at(sent, places->second[i]);
            if (run.answered && run.length > best.length) best = {places->second[i], run.length};
        }
        return best.length > 0 ? std::optional(best) : std::nullopt;
    }

    Resend anchored(std::size_t sent, Anchor anchor) const {
        PAL_ASSERT(sent < incoming_.size() && anchor.known < log_.size());
        Resend resend{.preamble = first_, .first_new = sent + 1, .anchor = anchor.known};
        for (std::size_t i = first_; i + anchor.length <= sent; ++i)
            resend.ignored += places_.contains(incoming_[i].fingerprint) ? 0 : 1;
        if (has_more_behind(anchor.known)) resend.rewind_to = log_[anchor.known].range.to;
        return resend;
    }

    bool has_more_behind(std::size_t known) const {
        return std::any_of(log_.begin() + static_cast<std::ptrdiff_t>(known) + 1, log_.end(),
                           [](const KnownMessage& one) { return !one.hidden; });
    }

    // An answer that is made anew takes back none.
    bool takes_words_back(const Resend& resend) const {
        return std::any_of(
            log_.begin() + static_cast<std::ptrdiff_t>(*resend.anchor) + 1, log_.end(),
            [](const KnownMessage& one) { return !one.hidden && one.role == Role::user; });
    }

    // What stands at the end of the log without an answer. A partial answer is none.
    std::vector<std::size_t> unanswered() const {
        std::vector<std::size_t> places;
        for (std::size_t i = log_.size(); i-- > 0;) {
            if (log_[i].interrupted) continue;
            if (log_[i].role == Role::assistant) break;
            places.push_back(i);
        }
        std::ranges::reverse(places);
        return places;
    }

    bool begins_with(std::span<const std::size_t> known) const {
        for (std::size_t i = 0; i < known.size(); ++i)
            if (!says_the_same(log_[known[i]], incoming_[first_ + i])) return false;
        return true;
    }

    // Words that nobody has answered are not said again, alone or with new ones behind them: the
    // longest end of them that the list begins with is history. One message of several, with others
    // behind it, may well be said again.
    Resend without_anchor() const {
        Resend resend{.preamble = first_, .first_new = first_};
        const std::vector<std::size_t> open = unanswered();
        const std::size_t sent = incoming_.size() - first_;
        std::size_t tried = 0;
        for (std::size_t count = std::min(sent, open.size()); count > 0; --count) {
            const auto end = std::span(open).last(count);
            const bool tells = count > 1 || open.size() == 1 || sent == 1;
            if (!tells || !says_the_same(log_[end.front()], incoming_[first_])) continue;
            if (++tried > places_max) break;
            if (!begins_with(end)) continue;
            resend.first_new = first_ + count;
            resend.anchor = end.back();
            if (has_more_behind(end.back())) resend.rewind_to = log_[end.back()].range.to;
            break;
        }
        return resend;
    }

    std::span<const KnownMessage> log_;
    std::span<const ResentMessage> incoming_;
    std::size_t first_;
    Places places_;
};

}  // namespace

Resend find_resend(std::span<const KnownMessage> log, std::span<const ResentMessage> incoming) {
    const auto first = std::find_if(incoming.begin(), incoming.end(), [](const ResentMessage& one) {
        return one.role != Role::system;
    });
    return Search(log, incoming, static_cast<std::size_t>(first - incoming.begin())).run();
}

}  // namespace palimpsest
