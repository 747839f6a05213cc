// Records: compare and set, versions that never come back, listing by prefix, expiry.
#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

using namespace std::chrono_literals;

RecordKey key(std::string name) {
    return {"t", "s", std::move(name)};
}

std::uint64_t put(Probe& store, const std::string& name, const std::string& value,
                  std::optional<Duration> ttl = {}) {
    return must(store->put_record({.key = key(name), .value = value, .ttl = ttl}));
}

Texts keys(Probe& store, RecordQuery query) {
    query.tenant = "t";
    query.space = "s";
    Texts found;
    for (const Record& record : must(store->list_records(query))) found.push_back(record.key.key);
    return found;
}

constexpr ConformanceCheck checks[] = {
    {"a_record_comes_back_as_it_was_put",
     [](Probe& store) {
         const std::string bytes("\0\xff{}'", 5);
         const std::uint64_t version = put(store, "k", bytes);
         const Record record = must(store->get_record(key("k")));
         equal(record.value, bytes);
         equal(record.version, version);
         check(record.key == key("k") && !record.expires, "its key, no expiry");
     }},
    {"an_absent_record_is_not_found",
     [](Probe& store) {
         refused(store->get_record(key("k")), ErrorCode::not_found);
         put(store, "k", "");
         equal(must(store->get_record(key("k"))).value, "");
     }},
    {"a_record_is_replaced_whole",
     [](Probe& store) {
         const std::uint64_t first = put(store, "k", "one");
         const std::uint64_t second = put(store, "k", "two");
         check(second > first, "the version grows");
         equal(must(store->get_record(key("k"))).value, "two");
     }},
    {"versions_grow_over_the_whole_store",
     [](Probe& store) {
         std::uint64_t last = 0;
         for (const std::string name : {"a", "b", "a", "c", "b"}) {
             const std::uint64_t version = put(store, name, "x");
             check(version > last, "greater than every version before");
             last = version;
         }
         check(must(store->put_record({.key = {"u", "s", "a"}, .value = "x"})) > last,
               "over tenants too");
     }},
    {"a_version_never_comes_back_after_a_removal",
     [](Probe& store) {
         const std::uint64_t first = put(store, "k", "one");
         must(store->put_record({.key = key("k")}));
         refused(store->get_record(key("k")), ErrorCode::not_found);
         check(put(store, "k", "one") > first, "a new version for the same bytes");
         refused(store->put_record({.key = key("k"), .value = "x", .expected = first}),
                 ErrorCode::conflict);
     }},
    {"a_record_is_set_only_at_the_version_expected",
     [](Probe& store) {
         const std::uint64_t first = put(store, "k", "1");
         const std::uint64_t second =
             must(store->put_record({.key = key("k"), .value = "2", .expected = first}));
         refused(store->put_record({.key = key("k"), .value = "3", .expected = first}),
                 ErrorCode::conflict);
         refused(store->put_record({.key = key("k"), .expected = first}), ErrorCode::conflict);
         equal(must(store->get_record(key("k"))).value, "2");
         must(store->put_record({.key = key("k"), .expected = second}));
         refused(store->get_record(key("k")), ErrorCode::not_found);
     }},
    {"expecting_zero_means_that_it_must_be_absent",
     [](Probe& store) {
         const std::uint64_t version =
             must(store->put_record({.key = key("k"), .value = "1", .expected = 0}));
         refused(store->put_record({.key = key("k"), .value = "2", .expected = 0}),
                 ErrorCode::conflict);
         refused(store->put_record({.key = key("other"), .value = "2", .expected = version}),
                 ErrorCode::conflict);
         refused(store->get_record(key("other")), ErrorCode::not_found);
     }},
    {"removing_an_absent_record_is_done",
     [](Probe& store) {
         must(store->put_record({.key = key("k")}));
         refused(store->get_record(key("k")), ErrorCode::not_found);
     }},
    {"records_of_tenants_and_spaces_do_not_mix",
     [](Probe& store) {
         const RecordKey all[] = {
             {"t", "s", "k"}, {"t", "sk", "k"}, {"ts", "k", "k"}, {"u", "s", "k"}};
         for (const RecordKey& one : all)
             must(store->put_record({.key = one, .value = one.tenant + "/" + one.space}));
         for (const RecordKey& one : all)
             equal(must(store->get_record(one)).value, one.tenant + "/" + one.space);
         equal(keys(store, {}), Texts{"k"});
     }},
    {"records_are_listed_by_prefix_in_the_order_of_their_bytes",
     [](Probe& store) {
         for (const std::string name : {"b/2", "a", "b/10", "b", "c", "b/\xff", "B/1"})
             put(store, name, name);
         equal(keys(store, {}), Texts{"B/1", "a", "b", "b/10", "b/2", "b/\xff", "c"});
         equal(keys(store, {.prefix = "b/"}), Texts{"b/10", "b/2", "b/\xff"});
         equal(keys(store, {.prefix = "zzz"}), Texts{});
     }},
    {"prefixes_are_no_patterns",
     [](Probe& store) {
         for (const std::string name : {"a%b", "axb", "a_c", "ayc", "a*d", "a[e"})
             put(store, name, "");
         equal(keys(store, {.prefix = "a%"}), Texts{"a%b"});
         equal(keys(store, {.prefix = "a_"}), Texts{"a_c"});
         equal(keys(store, {.prefix = "a*"}), Texts{"a*d"});
         equal(keys(store, {.prefix = "a["}), Texts{"a[e"});
     }},
    {"records_are_listed_in_pages",
     [](Probe& store) {
         for (int i = 10; i < 20; ++i) put(store, "p" + std::to_string(i), "");
         put(store, "q", "");
         equal(keys(store, {.prefix = "p", .limit = 3}), Texts{"p10", "p11", "p12"});
         equal(keys(store, {.prefix = "p", .after = "p12", .limit = 3}),
               Texts{"p13", "p14", "p15"});
         equal(keys(store, {.prefix = "p", .after = "p18"}), Texts{"p19"});
         equal(keys(store, {.prefix = "p", .after = "p19"}), Texts{});
         equal(keys(store, {.prefix = "p", .after = "a", .limit = 1}), Texts{"p10"});
         equal(keys(store, {.limit = 0}), Texts{});
     }},
    {"a_page_of_records_has_a_hundred_by_default",
     [](Probe& store) {
         for (int i = 0; i < 101; ++i) put(store, std::to_string(i), "");
         equal(keys(store, {}).size(), 100U);
     }},
    {"bad_keys_of_records_are_refused",
     [](Probe& store) {
         for (const RecordKey& bad : {RecordKey{"", "s", "k"}, RecordKey{"t", "", "k"},
                                      RecordKey{"t", "s", ""}, RecordKey{"t\n", "s", "k"}}) {
             refused(store->put_record({.key = bad, .value = "v"}), ErrorCode::invalid_request);
             refused(store->get_record(bad), ErrorCode::invalid_request);
         }
         refused(store->list_records({.tenant = "", .space = "s"}), ErrorCode::invalid_request);
     }},
    {"a_record_expires_to_the_millisecond",
     [](Probe& store) {
         put(store, "k", "v", 1500ms);
         store.advance(1499ms);
         check(must(store->get_record(key("k"))).expires.has_value(), "it says when");
         store.advance(1ms);
         refused(store->get_record(key("k")), ErrorCode::not_found);
         equal(keys(store, {}), Texts{});
     },
     CheckNeeds::clock},
    {"an_expired_record_is_absent_to_compare_and_set",
     [](Probe& store) {
         const std::uint64_t old = put(store, "k", "v", 1s);
         store.advance(1s);
         refused(store->put_record({.key = key("k"), .value = "x", .expected = old}),
                 ErrorCode::conflict);
         check(must(store->put_record({.key = key("k"), .value = "x", .expected = 0})) > old,
               "and its version does not come back");
     },
     CheckNeeds::clock},
    {"writing_a_record_again_gives_it_a_new_time_to_live",
     [](Probe& store) {
         put(store, "a", "v", 1s);
         put(store, "b", "v", 1s);
         put(store, "c", "v", 1s);
         put(store, "a", "v");
         put(store, "b", "v", 5s);
         must(store->get_record(key("c")));
         store.advance(1s);
         equal(keys(store, {}), Texts{"a", "b"});
         store.advance(4s);
         equal(keys(store, {}), Texts{"a"});
     },
     CheckNeeds::clock},
    {"expired_records_do_not_fill_pages",
     [](Probe& store) {
         for (int i = 0; i < 10; ++i) put(store, "a" + std::to_string(i), "", 1s);
         put(store, "b", "");
         store.advance(1s);
         equal(keys(store, {.limit = 1}), Texts{"b"});
         must(store->sweep(100));
         equal(keys(store, {}), Texts{"b"});
     },
     CheckNeeds::clock},
};

}  // namespace

std::span<const ConformanceCheck> record_checks() {
    return checks;
}

}  // namespace palimpsest
