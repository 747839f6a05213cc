// Whatever was said and whatever the core's edits made of it: what is rendered can be sent.
//
// Logs are random, broken ones among them, in one format or in all mixed; the edits are random
// too and follow no group, so that calls and results lose each other in every way.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/fold.h"
#include "format/random_history.h"
#include "palimpsest/format.h"

using namespace palimpsest;

namespace {

constexpr FormatId formats[] = {FormatId::openai_chat, FormatId::openai_responses,
                                FormatId::anthropic};

// A log of messages (seq 1 is the first), the edits in force over it, and the view.
class EditedLog {
public:
    explicit EditedLog(unsigned seed) : random_(seed) {
        const bool mixed = below(2) == 0;
        FormatId format = formats[below(3)];
        for (std::size_t n = 1 + below(3); n > 0; --n) {
            if (mixed) format = formats[below(3)];
            const std::string json =
                test::RandomHistory(format, static_cast<unsigned>(random_())).json();
            const auto messages = read_messages(format, make_bytes(json));
            log_.insert(log_.end(), messages->begin(), messages->end());
        }
        for (std::size_t n = below(6); n > 0; --n) edit();
    }

    std::vector<Message> view() const {
        std::vector<Message> messages;
        std::map<std::pair<Seq, std::uint32_t>, bool> summaries;
        for (const Run& run : refold(changes_, end()).runs) {
            if (run.treatment == Treatment::dropped) continue;
            if (run.treatment == Treatment::folded) {
                if (summaries.try_emplace({run.by, run.edit}, true).second)
                    messages.push_back(
                        *make_message(log_.back().format, Role::user, "[summary] of it"));
                continue;
            }
            for (Seq seq = run.range.from; seq <= run.range.to; seq = seq + 1)
                messages.push_back(shown(log_[seq.value - 1], run.treatment));
        }
        return messages;
    }

private:
    std::size_t below(std::size_t n) { return random_() % n; }
    Seq end() const { return Seq{log_.size()}; }

    // Compactions drop, fold, clear and shorten; a retract drops; a rewind drops the end; a pin
    // brings back.
    void edit() {
        const Seq from{1 + below(log_.size())};
        const Seq to{std::min<std::uint64_t>(end().value, from.value + below(5))};
        Change change{.seq = Seq{1000 + changes_.size()}};
        switch (below(6)) {
            case 0:
                change.pin_targets = {from};
                break;
            case 1:
                change.statements = {{Treatment::dropped, {from, end()}, 0}};
                break;
            default:
                change.statements = {{static_cast<Treatment>(1 + below(4)), {from, to}, 1}};
        }
        changes_.push_back(std::move(change));
    }

    static Message shown(const Message& message, Treatment treatment) {
        if (treatment == Treatment::verbatim) return message;
        const auto left = scrubbed_message(message);
        return left ? *read_message(message.format, *left) : message;
    }

    std::minstd_rand random_;
    std::vector<Message> log_;
    std::vector<Change> changes_;
};

std::string refused(FormatId format, const std::string& json) {
    const auto violations = validate_json(format, json);
    if (!violations) return violations.error().message;
    for (const Violation& violation : *violations)
        if (violation.severity != Severity::tolerate)
            return std::string(violation.rule) + ": " + violation.message;
    return "";
}

}  // namespace

class render_property : public testing::TestWithParam<FormatId> {};

TEST_P(render_property, any_log_under_any_edits_becomes_a_list_that_is_accepted) {
    std::size_t sent = 0;
    for (unsigned seed = 1; seed <= 1500; ++seed) {
        const std::vector<Message> view = EditedLog(seed).view();
        const auto rendered = render(GetParam(), view);
        if (!rendered) {
            // Only a view that holds nothing to say has no list.
            ASSERT_EQ(rendered.error().code, ErrorCode::invalid_request)
                << seed << rendered.error().message;
            continue;
        }
        const std::string json = write_list(rendered->messages);
        ASSERT_EQ(refused(GetParam(), json), "") << seed << "\n"
                                                 << write_list(view) << "\n"
                                                 << json;
        const auto again = render(GetParam(), rendered->messages);
        ASSERT_TRUE(again) << seed;
        ASSERT_EQ(write_list(again->messages), json) << seed;
        ASSERT_TRUE(again->notes.empty() && again->lost.empty()) << seed;
        ++sent;
    }
    EXPECT_GT(sent, 1300u);
}

TEST_P(render_property, what_is_in_the_format_and_accepted_keeps_its_bytes) {
    for (unsigned seed = 1; seed <= 1000; ++seed) {
        const std::string json = test::RandomHistory(GetParam(), seed + 40000).json();
        if (refused(GetParam(), json) != "") continue;
        const auto messages = read_messages(GetParam(), make_bytes(json));
        const auto rendered = render(GetParam(), *messages);
        ASSERT_TRUE(rendered) << seed << rendered.error().message;
        ASSERT_EQ(write_list(rendered->messages), json) << seed;
        ASSERT_TRUE(rendered->notes.empty()) << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(formats, render_property, testing::ValuesIn(formats),
                         [](const auto& each) { return std::string(format_name(each.param)); });
