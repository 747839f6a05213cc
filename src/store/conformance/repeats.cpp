// What is large and said again: a store may keep it once, and nobody may see that it does.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

// Larger than what any store of ours keeps with its entry.
const std::string& large() {
    static const std::string text = [] {
        std::string bytes;
        while (bytes.size() < 300'000) bytes += "line " + std::to_string(bytes.size()) + "\n";
        return bytes;
    }();
    return text;
}

// Not with equal(): a megabyte is no message.
void sees(Probe& store, const std::string& id, const Texts& want,
          const Where& where = Where::current()) {
    const Texts have = texts(store, id, where);
    check(have.size() == want.size(), id + " has as many messages as it should", where);
    for (std::size_t i = 0; i < want.size(); ++i)
        check(have[i] == want[i], "message " + std::to_string(i + 1) + " of " + id + " is right",
              where);
}

void scrub(Probe& store, const LogId& log, Seq seq) {
    const Replacement one[] = {
        {log, seq, MessageEntry{.message = {.raw = make_bytes("")}, .scrubbed = true}}};
    must(store->scrub(one));
}

// "a" says it three times, its fork "b" and another conversation "c" once.
LogId said_everywhere(Probe& store) {
    const LogId a = written(store, "a", {"1", large(), large()}).log;
    must(store->append(named("a"), says({large(), "5"})));
    must(fork(store, "a", Seq{2}, "b", says({large(), "b"})));
    written(store, "c", {large()});
    return a;
}

constexpr ConformanceCheck checks[] = {
    {"a_large_message_that_is_said_again_is_read_wherever_it_was_said",
     [](Probe& store) {
         said_everywhere(store);
         must(store->append({"other", "a"}, says({large()})));
         sees(store, "a", {"1", large(), large(), large(), "5"});
         sees(store, "b", {"1", large(), large(), "b"});
         sees(store, "c", {large()});
         const LogId other = must(store->head(ConversationId{"other", "a"})).log;
         check(own_texts(store, other) == Texts{large()}, "another tenant has its own");
         must(store->erase(named("a")));
         must(store->erase(named("b")));
         must(store->erase(named("c")));
         check(own_texts(store, other) == Texts{large()}, "it is nobody else's");
     }},
    {"scrubbing_a_large_message_leaves_the_others_that_say_the_same",
     [](Probe& store) {
         const LogId a = said_everywhere(store);
         scrub(store, a, Seq{3});
         sees(store, "a", {"1", large(), "", large(), "5"});
         scrub(store, a, Seq{2});
         sees(store, "a", {"1", "", "", large(), "5"});
         sees(store, "b", {"1", "", large(), "b"});
         scrub(store, a, Seq{4});
         sees(store, "b", {"1", "", large(), "b"});
         sees(store, "c", {large()});
     }},
    {"erasing_takes_a_large_message_from_nobody_who_says_the_same",
     [](Probe& store) {
         said_everywhere(store);
         equal(must(store->erase(named("a"))).entries, 3U);
         sees(store, "b", {"1", large(), large(), "b"});
         sees(store, "c", {large()});
         must(fork(store, "b", Seq{2}, "d", says({large()})));
         equal(must(store->erase(named("b"))).entries, 2U);
         sees(store, "d", {"1", large(), large()});
         equal(must(store->erase(named("d"))).entries, 3U);
         sees(store, "c", {large()});
         written(store, "a", {large()});
         must(store->erase(named("c")));
         sees(store, "a", {large()});
         must(store->erase(named("a")));
         equal(listed(store, {.tenant = "t"}), Texts{});
     }},
};

}  // namespace

std::span<const ConformanceCheck> repeat_checks() {
    return checks;
}

}  // namespace palimpsest
