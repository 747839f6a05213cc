// Listing: filters, orders, pages that neither skip nor repeat.
#include <algorithm>

#include "store/conformance/checks.h"
#include "store/conformance/probe.h"

namespace palimpsest {
namespace {

using namespace std::chrono_literals;

// All pages, one after the other; `between` runs after each.
Texts all_pages(Probe& store, ListQuery query, const std::function<void()>& between = [] {}) {
    query.tenant = "t";
    Texts all;
    do {
        const Page page = must(store->list(query));
        check(page.headers.size() <= query.limit, "a page keeps the limit");
        for (const std::string& id : ids(page)) all.push_back(id);
        query.after = page.next;
        between();
    } while (!query.after.empty());
    return all;
}

Texts sorted(Texts texts) {
    std::ranges::sort(texts);
    return texts;
}

void labelled(Probe& store, const std::string& id, const std::string& owner,
              const std::string& metadata) {
    must(store->append(named(id), patches({.owner = owner, .metadata_merge = metadata})));
}

// c, a and b are created in this order, then used and changed in others, a second apart each.
void three_in_time(Probe& store) {
    for (const std::string id : {"c", "a", "b"}) {
        written(store, id, {"1"});
        store.advance(1s);
    }
    must(store->append(named("c"), says({"2"})));
    store.advance(1s);
    must(store->append(named("a"), Batch{}));
}

constexpr ConformanceCheck checks[] = {
    {"an_unknown_tenant_has_no_conversations",
     [](Probe& store) {
         written(store, "a", {"1"});
         equal(listed(store, {.tenant = "nobody"}), Texts{});
         check(must(store->list({.tenant = "nobody"})).next.empty(), "and no next page");
     }},
    {"a_listing_shows_whole_headers",
     [](Probe& store) {
         labelled(store, "a", "ann", "{\"k\":1}");
         must(store->append(named("a"), says({"1", "2"})));
         const Page page = must(store->list({.tenant = "t"}));
         equal(page.headers, std::vector<Header>{must(store->head(named("a")))});
     }},
    {"the_newest_change_is_listed_first",
     [](Probe& store) {
         three_in_time(store);
         equal(listed(store, {}), Texts{"c", "b", "a"});
         equal(listed(store, {.newest_first = false}), Texts{"a", "b", "c"});
     },
     CheckNeeds::clock},
    {"conversations_are_listed_by_creation",
     [](Probe& store) {
         three_in_time(store);
         equal(listed(store, {.sort = SortBy::created}), Texts{"b", "a", "c"});
         equal(listed(store, {.sort = SortBy::created, .newest_first = false}),
               Texts{"c", "a", "b"});
     },
     CheckNeeds::clock},
    {"conversations_are_listed_by_last_access",
     [](Probe& store) {
         three_in_time(store);
         equal(listed(store, {.sort = SortBy::accessed}), Texts{"a", "c", "b"});
         equal(listed(store, {.sort = SortBy::accessed, .newest_first = false}),
               Texts{"b", "c", "a"});
     },
     CheckNeeds::clock},
    {"a_page_has_a_hundred_rows_by_default",
     [](Probe& store) {
         for (int i = 0; i < 101; ++i) must(store->append(named(std::to_string(i)), Batch{}));
         const Page page = must(store->list({.tenant = "t"}));
         equal(page.headers.size(), 100U);
         check(!page.next.empty(), "there is another page");
         const Page rest = must(store->list({.tenant = "t", .after = page.next}));
         equal(rest.headers.size(), 1U);
         check(rest.next.empty(), "and that is the last");
     }},
    {"pages_neither_skip_nor_repeat",
     [](Probe& store) {
         Texts all;
         for (int i = 0; i < 57; ++i) {
             all.push_back("id" + std::to_string(i));
             must(store->append(named(all.back()), Batch{}));
         }
         for (const SortBy sort : {SortBy::created, SortBy::updated, SortBy::accessed})
             for (const bool newest : {true, false})
                 equal(
                     sorted(all_pages(store, {.sort = sort, .newest_first = newest, .limit = 10})),
                     sorted(all));
     }},
    {"a_full_last_page_is_the_last_page",
     [](Probe& store) {
         for (int i = 0; i < 4; ++i) must(store->append(named(std::to_string(i)), Batch{}));
         equal(all_pages(store, {.limit = 2}).size(), 4U);
         equal(all_pages(store, {.limit = 4}).size(), 4U);
         equal(all_pages(store, {.limit = 5}).size(), 4U);
     }},
    {"paging_is_stable_while_conversations_are_created",
     [](Probe& store) {
         for (int i = 0; i < 9; ++i) {
             must(store->append(named(std::to_string(i)), Batch{}));
             store.advance(1ms);
         }
         int more = 0;
         const Texts seen = all_pages(store, {.sort = SortBy::created, .limit = 2}, [&] {
             must(store->append(named("new" + std::to_string(++more)), Batch{}));
             store.advance(1ms);
         });
         equal(seen, Texts{"8", "7", "6", "5", "4", "3", "2", "1", "0"});
     },
     CheckNeeds::clock},
    {"paging_goes_on_when_the_row_it_stands_on_is_erased",
     [](Probe& store) {
         for (int i = 0; i < 6; ++i) {
             must(store->append(named(std::to_string(i)), Batch{}));
             store.advance(1ms);
         }
         ListQuery query{.tenant = "t", .sort = SortBy::created, .limit = 2};
         query.after = must(store->list(query)).next;
         must(store->erase(named("4")));
         must(store->erase(named("3")));
         equal(listed(store, query), Texts{"2", "1"});
     },
     CheckNeeds::clock},
    {"a_cursor_that_is_none_is_refused",
     [](Probe& store) {
         written(store, "a", {"1"});
         for (const std::string bad : {"x", "0", "zzzz.zzzz", "\xff", "' OR 1=1 --"})
             refused(store->list({.tenant = "t", .after = bad}), ErrorCode::invalid_request);
     }},
    {"an_owner_sees_only_what_is_theirs",
     [](Probe& store) {
         labelled(store, "a", "ann", "{}");
         labelled(store, "b", "bob", "{}");
         labelled(store, "c", "ann", "{}");
         labelled(store, "d", "", "{}");
         equal(sorted(listed(store, {.owner = "ann"})), Texts{"a", "c"});
         equal(listed(store, {.owner = ""}), Texts{"d"});
         equal(listed(store, {.owner = "ANN"}), Texts{});
         equal(listed(store, {}).size(), 4U);
     }},
    {"a_new_owner_takes_the_conversation_along",
     [](Probe& store) {
         labelled(store, "a", "ann", "{}");
         must(store->append(named("a"), patches({.owner = "bob"})));
         equal(listed(store, {.owner = "ann"}), Texts{});
         equal(listed(store, {.owner = "bob"}), Texts{"a"});
     }},
    {"metadata_filters_compare_whole_fields",
     [](Probe& store) {
         labelled(store, "a", "", "{\"lang\":\"de\",\"n\":1,\"hot\":true}");
         labelled(store, "b", "", "{\"lang\":\"d\",\"n\":10,\"hot\":false}");
         equal(listed(store, {.metadata = {{"lang", "de"}}}), Texts{"a"});
         equal(listed(store, {.metadata = {{"lang", "d"}}}), Texts{"b"});
         equal(listed(store, {.metadata = {{"n", "1"}}}), Texts{"a"});
         equal(listed(store, {.metadata = {{"hot", "false"}}}), Texts{"b"});
         equal(listed(store, {.metadata = {{"LANG", "de"}}}), Texts{});
         equal(listed(store, {.metadata = {{"absent", ""}}}), Texts{});
     }},
    {"all_fields_of_a_filter_must_agree",
     [](Probe& store) {
         labelled(store, "a", "ann", "{\"x\":1,\"y\":2}");
         labelled(store, "b", "ann", "{\"x\":1,\"y\":3}");
         labelled(store, "c", "bob", "{\"x\":1,\"y\":2}");
         equal(listed(store, {.owner = "ann", .metadata = {{"x", "1"}, {"y", "2"}}}), Texts{"a"});
         equal(sorted(listed(store, {.metadata = {{"x", "1"}}})), Texts{"a", "b", "c"});
     }},
    {"filters_follow_the_metadata",
     [](Probe& store) {
         labelled(store, "a", "", "{\"state\":\"open\"}");
         labelled(store, "a", "", "{\"state\":\"done\"}");
         equal(listed(store, {.metadata = {{"state", "open"}}}), Texts{});
         equal(listed(store, {.metadata = {{"state", "done"}}}), Texts{"a"});
         labelled(store, "a", "", "{\"state\":null}");
         equal(listed(store, {.metadata = {{"state", "done"}}}), Texts{});
     }},
    {"filtered_pages_are_full_pages",
     [](Probe& store) {
         for (int i = 0; i < 30; ++i)
             labelled(store, std::to_string(i), i % 3 == 0 ? "ann" : "bob",
                      i % 2 == 0 ? "{\"even\":true}" : "{}");
         const ListQuery query{.owner = "ann", .metadata = {{"even", "true"}}, .limit = 2};
         equal(sorted(all_pages(store, query)), Texts{"0", "12", "18", "24", "6"});
     }},
    {"erased_conversations_are_not_listed",
     [](Probe& store) {
         labelled(store, "a", "ann", "{\"k\":1}");
         written(store, "b", {"1"});
         must(fork(store, "b", Seq{1}, "c"));
         must(store->erase(named("a")));
         must(store->erase(named("b")));
         equal(listed(store, {}), Texts{"c"});
         equal(listed(store, {.owner = "ann"}), Texts{});
         equal(listed(store, {.metadata = {{"k", "1"}}}), Texts{});
     }},
    {"the_forks_of_a_log_are_listed_also_nameless_ones",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1", "2"}).log;
         must(fork(store, "a", Seq{1}, "b"));
         must(fork(store, "a", Seq{2}, "c", says({"3"})));
         must(fork(store, "c", Seq{3}, "grandchild"));
         equal(sorted(listed(store, {.children_of = a})), Texts{"b", "c"});
         must(store->erase(named("c")));
         equal(sorted(listed(store, {.children_of = a})), Texts{"", "b"});
         must(store->erase(named("grandchild")));
         equal(listed(store, {.children_of = a}), Texts{"b"});
     }},
    {"a_log_without_forks_has_none",
     [](Probe& store) {
         const LogId a = written(store, "a", {"1"}).log;
         equal(listed(store, {.children_of = a}), Texts{});
         LogId nobody;
         nobody.bytes.fill(9);
         equal(listed(store, {.children_of = nobody}), Texts{});
     }},
};

}  // namespace

std::span<const ConformanceCheck> list_checks() {
    return checks;
}

}  // namespace palimpsest
