// Headers: what a patch changes, what counts as a change and what as an access.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

using namespace std::chrono_literals;

std::string merged(Probe& store, const std::string& patch) {
    return must(store->append(named("a"), patches({.metadata_merge = patch}))).header.metadata;
}

constexpr ConformanceCheck checks[] = {
    {"the_head_of_an_absent_conversation_is_not_found",
     [](Probe& store) {
         refused(store->head(named("a")), ErrorCode::not_found);
         LogId nobody;
         nobody.bytes.fill(9);
         refused(store->head(nobody), ErrorCode::not_found);
     }},
    {"a_head_is_the_same_by_name_and_by_log",
     [](Probe& store) {
         const Header written_ = written(store, "a", {"1"});
         equal(must(store->head(named("a"))), written_);
         equal(must(store->head(written_.log)), written_);
     }},
    {"a_new_header_is_empty",
     [](Probe& store) {
         const Header header = must(store->append(named("a"), Batch{})).header;
         equal(header.name.id, "a");
         equal(header.name.tenant, "t");
         equal(Texts{header.owner, header.title, header.system_prompt, header.policy}, Texts(4));
         equal(header.metadata, "{}");
         equal(header.revision + header.epoch + header.messages, 0U);
         check(!header.parent && header.base == Seq{0}, "it is no fork");
     }},
    {"a_patch_sets_what_it_names_and_leaves_the_rest",
     [](Probe& store) {
         must(store->append(named("a"), patches({.owner = "ann",
                                                 .title = "T",
                                                 .system_prompt = "P",
                                                 .policy = "{\"mode\":\"trim\"}"})));
         must(store->append(named("a"), patches({.title = ""})));
         const Header header = must(store->head(named("a")));
         equal(Texts{header.owner, header.title, header.system_prompt, header.policy},
               Texts{"ann", "", "P", "{\"mode\":\"trim\"}"});
     }},
    {"entries_and_a_change_of_header_are_one_write",
     [](Probe& store) {
         Batch batch = says({"1"});
         batch.patch.title = "T";
         const Header header = must(store->append(named("a"), batch)).header;
         equal(header.title, "T");
         equal(header.end, Seq{1});
     }},
    {"metadata_is_merged_field_by_field",
     [](Probe& store) {
         equal(merged(store, "{\"a\":1,\"b\":{\"c\":2}}"), "{\"a\":1,\"b\":{\"c\":2}}");
         equal(merged(store, "{\"d\":\"x\"}"), "{\"a\":1,\"b\":{\"c\":2},\"d\":\"x\"}");
         equal(merged(store, "{\"b\":{\"e\":3}}"), "{\"a\":1,\"d\":\"x\",\"b\":{\"e\":3}}");
     }},
    {"null_takes_a_field_of_the_metadata_away",
     [](Probe& store) {
         merged(store, "{\"a\":1,\"b\":2}");
         equal(merged(store, "{\"a\":null,\"never\":null}"), "{\"b\":2}");
         equal(merged(store, "{}"), "{\"b\":2}");
     }},
    {"metadata_that_is_no_object_is_refused",
     [](Probe& store) {
         written(store, "a", {"1"});
         for (const std::string bad : {"[1]", "1", "\"x\"", "", "{", "{\"a\":1}x", "null"})
             refused(store->append(named("a"), patches({.metadata_merge = bad})),
                     ErrorCode::invalid_request);
         equal(must(store->head(named("a"))).metadata, "{}");
     }},
    {"metadata_beyond_64_kib_is_too_large",
     [](Probe& store) {
         written(store, "a", {"1"});
         const std::string big = "{\"k\":\"" + std::string(64 * 1024, 'x') + "\"}";
         refused(store->append(named("a"), patches({.metadata_merge = big})), ErrorCode::too_large);
         equal(must(store->head(named("a"))).metadata, "{}");
     }},
    {"a_change_of_header_counts_the_revision_up_and_an_entry_does_not",
     [](Probe& store) {
         const std::uint64_t first = written(store, "a", {"1"}).revision;
         equal(must(store->append(named("a"), says({"2"}))).header.revision, first);
         equal(must(store->append(named("a"), Batch{})).header.revision, first);
         check(must(store->append(named("a"), patches({.owner = "x"}))).header.revision > first,
               "a patch counts");
     }},
    {"times_say_when_it_was_created_changed_and_used",
     [](Probe& store) {
         const Header first = written(store, "a", {"1"});
         equal(first.updated, first.created);
         equal(first.accessed, first.created);
         store.advance(1s);
         must(store->append(named("a"), says({"2"})));
         store.advance(1s);
         const Header last = must(store->append(named("a"), Batch{})).header;
         equal(last.created, first.created);
         equal(last.updated, first.created + 1s);
         equal(last.accessed, first.created + 2s);
     },
     CheckNeeds::clock},
    {"a_change_of_header_counts_as_an_update",
     [](Probe& store) {
         const Header first = written(store, "a", {"1"});
         store.advance(1s);
         equal(must(store->append(named("a"), patches({.title = "x"}))).header.updated,
               first.updated + 1s);
     },
     CheckNeeds::clock},
    {"a_stamp_brings_its_own_times",
     [](Probe& store) {
         const Stamp stamp{Time(1h), Time(2h), Time(3h)};
         Batch batch = says({"1"});
         batch.stamp = stamp;
         must(store->append(named("a"), batch));
         const Header first = must(store->head(named("a")));
         equal(first.created, stamp.created);
         equal(first.updated, stamp.updated);
         equal(first.accessed, stamp.accessed);
         batch.stamp = Stamp{Time(4h), Time(5h), Time(6h)};
         const Header told = must(store->append(named("a"), batch)).header;
         const Header then = must(store->head(named("a")));
         equal(told, then);
         equal(then.created, stamp.created);
         equal(then.updated, Time(5h));
         equal(then.accessed, Time(6h));
         must(store->append(named("a"), says({"3"})));
         check(must(store->head(named("a"))).updated > Time(6h), "the clock goes on");
     }},
    {"looking_is_no_access",
     [](Probe& store) {
         const Header before = written(store, "a", {"1"});
         store.advance(1s);
         must(store->head(before.log));
         must(store->read(before.log, {}));
         must(store->list({.tenant = "t"}));
         equal(must(store->head(named("a"))), before);
     },
     CheckNeeds::clock},
};

}  // namespace

std::span<const ConformanceCheck> header_checks() {
    return checks;
}

}  // namespace palimpsest
