// Names and sizes: what a store refuses, and what it must not confuse.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

// No operation takes the name, and nothing is left behind.
void refused_everywhere(Probe& store, const ConversationId& name) {
    refused(store->append(name, says({"x"})), ErrorCode::invalid_request);
    refused(store->head(name), ErrorCode::invalid_request);
    refused(store->erase(name), ErrorCode::invalid_request);
    equal(listed(store, {}), Texts{});
}

constexpr ConformanceCheck checks[] = {
    {"an_empty_id_is_refused", [](Probe& store) { refused_everywhere(store, {"t", ""}); }},
    {"an_empty_tenant_is_refused",
     [](Probe& store) {
         refused_everywhere(store, {"", "a"});
         refused(store->list({}), ErrorCode::invalid_request);
     }},
    {"an_id_of_255_bytes_is_taken_and_a_longer_one_refused",
     [](Probe& store) {
         refused_everywhere(store, named(std::string(256, 'x')));
         refused_everywhere(store, named(std::string(10 * 1024, 'x')));
         must(store->append(named(std::string(255, 'x')), says({"a"})));
         equal(texts(store, std::string(255, 'x')), Texts{"a"});
     }},
    {"control_characters_in_an_id_are_refused",
     [](Probe& store) {
         refused_everywhere(store, named("a\nb"));
         refused_everywhere(store, named(std::string("a\0b", 3)));
         refused_everywhere(store, named("\x1b[2J"));
         refused_everywhere(store, {"t\t", "a"});
     }},
    {"an_id_that_is_not_utf8_is_refused",
     [](Probe& store) {
         refused_everywhere(store, named("\xff\xfe"));
         refused_everywhere(store, named("half \xe2\x82"));
     }},
    {"dots_are_refused_and_paths_are_only_names",
     [](Probe& store) {
         refused_everywhere(store, named("."));
         refused_everywhere(store, named(".."));
         refused_everywhere(store, named("../../etc/passwd"));
         refused_everywhere(store, named("a/../b"));
         must(store->append(named("/etc/passwd"), says({"a name"})));
         must(store->append(named("C:\\x'; DROP TABLE log;--"), says({"another"})));
         equal(texts(store, "/etc/passwd"), Texts{"a name"});
         equal(texts(store, "C:\\x'; DROP TABLE log;--"), Texts{"another"});
     }},
    {"ids_are_compared_byte_by_byte",
     [](Probe& store) {
         const Texts all = {"a", "A", "a ", "ä", "a\xcc\x88", "a%", "a_"};
         for (const std::string& id : all) must(store->append(named(id), says({id})));
         for (const std::string& id : all) equal(texts(store, id), Texts{id});
         equal(must(store->list({.tenant = "t"})).headers.size(), all.size());
     }},
    {"the_same_id_in_two_tenants_is_two_conversations",
     [](Probe& store) {
         const LogId ours = must(store->append({"one", "a"}, says({"ours"}))).header.log;
         const LogId theirs = must(store->append({"two", "a"}, says({"theirs"}))).header.log;
         equal(own_texts(store, ours), Texts{"ours"});
         equal(own_texts(store, theirs), Texts{"theirs"});
         must(store->erase({"one", "a"}));
         equal(must(store->head({"two", "a"})).log, theirs);
     }},
    {"tenant_and_id_are_never_run_together",
     [](Probe& store) {
         must(store->append({"a/b", "c"}, says({"1"})));
         refused(store->head({"a", "b/c"}), ErrorCode::not_found);
         must(store->append({"a", "b/c"}, says({"2"})));
         equal(must(store->head({"a/b", "c"})).end, Seq{1});
         equal(listed(store, {.tenant = "a"}), Texts{"b/c"});
     }},
    {"a_tenant_that_is_a_pattern_lists_only_itself",
     [](Probe& store) {
         must(store->append({"acme", "a"}, says({"1"})));
         must(store->append({"acme2", "b"}, says({"2"})));
         equal(listed(store, {.tenant = "acme"}), Texts{"a"});
         equal(listed(store, {.tenant = "acm%"}), Texts{});
         equal(listed(store, {.tenant = "*"}), Texts{});
     }},
    {"the_store_says_how_durable_it_is",
     [](Probe& store) { check(!store->durability().level.empty(), "the level has a name"); }},
    {"a_store_that_takes_writes_says_so",
     [](Probe& store) {
         check(store->check_writable().has_value(), "before a write");
         must(store->put_record({.key = {"t", "s", "k"}, .value = "x"}));
         check(store->check_writable().has_value(), "behind it");
     }},
    {"the_store_says_who_and_what_is_in_it",
     [](Probe& store) {
         if (const auto none = store->contents(); !none)
             return refused(none, ErrorCode::unprocessable);  // it may decline
         equal(must(store->contents()).tenants, Texts{});
         must(store->append({"u", "x y/{z}"}, says({"1"})));
         written(store, "a", {"1"});
         must(fork(store, "a", Seq{1}, "b"));
         must(store->put_record({.key = {"t", "s", "k"}, .value = "v"}));
         must(store->put_record({.key = {"w/ {}", "s/2 ", "k"}, .value = "v"}));
         const Contents found = must(store->contents());
         equal(found.tenants, Texts{"t", "u"});
         check(found.spaces == std::vector<RecordSpace>{{"t", "s"}, {"w/ {}", "s/2 "}},
               "the spaces that have records");
     }},
    {"a_check_of_nobody_in_particular_is_one_of_all",
     [](Probe& store) {
         if (!store->contents()) return;
         written(store, "a", {"1", "2"});
         must(store->append({"u", "a"}, says({"1"})));
         const CheckReport report = must(store->check({}));
         for (const Finding& finding : report.findings) equal(finding.message, "no finding");
         equal(report.logs, 2U);
         equal(report.entries, 3U);
     }},
    {"a_sound_store_has_no_findings",
     [](Probe& store) {
         written(store, "a", {"1", "2", "3"});
         must(fork(store, "a", Seq{2}, "b", writes({said("4"), pinned(Seq{1})})));
         must(store->erase(named("a")));
         const std::string tenants[] = {"t"};
         const CheckReport report = must(store->check(tenants));
         for (const Finding& finding : report.findings) equal(finding.message, "no finding");
         equal(report.logs, 2U);
         equal(report.entries, 4U);
     }},
};

}  // namespace

std::span<const ConformanceCheck> name_checks() {
    return checks;
}

}  // namespace palimpsest
