// paging: which rows of a list that is in memory whole are the page that a query asks for, by its
// `order`, `after`, `before`, `offset` and `limit`.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/list_reply.h"
#include "server/route.h"

namespace palimpsest {

// Where an id stands in the list in ascending order: the rows below `before` are before it, those
// from `behind` on behind it. One that is in the list stands at `before`.
struct RowPlace {
    std::size_t before = 0, behind = 0;
};
using FindPlace = std::function<Result<RowPlace>(std::string_view id, std::string_view param)>;

struct RowPage {
    std::vector<std::size_t> rows = {};  // in the order of the query
    bool has_more = false;
    ListReply::From from = ListReply::From::start;  // where the place is that the query names
};

// What a list calls its places, and what is meant where the query does not say.
struct PageHabits {
    std::string_view order = "asc";
    std::size_t limit = 100;
    std::string_view after = "after", before = "before";
};

// Of `count` rows. A page before an id is the one that ends there. invalid_request where the query
// contradicts itself; errors of `find`.
Result<RowPage> find_page(const Query& query, std::size_t count, const FindPlace& find,
                          const PageHabits& habits = {});

// A seq, or the id of a message.
Result<Seq> parse_place(std::string_view text, std::string_view param);

// A page of a log, by `last` or by `order`, `limit`, `after` and `before`, which name entries. What
// is next to the place is read, in the order of the list it is shown.
struct LogPage {
    Range range = {Seq{1}, seq_max};  // what lies between the places
    std::size_t limit = 100;
    bool newest_first = false;  // how it is read
    ListReply::From from = ListReply::From::start;
};
Result<LogPage> find_log_page(const Query& query);

// How many rows to read next of those that are left: few at first, and never many, because each
// may be large.
class ReadSteps {
public:
    std::size_t next(std::size_t left) {
        step_ = std::min<std::size_t>(2 * step_, 32);
        return std::min(step_, left);
    }

private:
    std::size_t step_ = 2;
};

// The page's rows, until it has its bytes. write(out, row)
template <class IdOf, class Write>
RouteReply write_rows(const RowPage& page, std::string_view object, IdOf id, Write write) {
    ListReply list(object, page.from);
    const bool from_the_end = page.from == ListReply::From::end;
    for (std::size_t i = 0; i < page.rows.size() && list.has_room(); ++i) {
        const std::size_t row = page.rows[from_the_end ? page.rows.size() - 1 - i : i];
        write(list.row(std::string(id(row))), row);
    }
    return list.end(page.has_more);
}

// For find_page(), of rows whose ids are looked at one by one: not_found names the parameter.
template <class Rows, class IdOf>
FindPlace place_by_id(const Rows& rows, IdOf id_of) {
    return [&rows, id_of](std::string_view id, std::string_view param) -> Result<RowPlace> {
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (id_of(rows[i]) == id) return RowPlace{i, i + 1};
        return fail(ErrorCode::not_found, "the list has no row with this id", std::string(param));
    };
}

// For find_page(), of rows that are sorted by their ids: one that is gone has its place all the
// same.
template <class Rows, class IdOf>
FindPlace place_in_order(const Rows& rows, IdOf id_of) {
    return [&rows, id_of](std::string_view id, std::string_view) -> Result<RowPlace> {
        const auto range = std::ranges::equal_range(rows, id, {}, id_of);
        return RowPlace{static_cast<std::size_t>(range.begin() - rows.begin()),
                        static_cast<std::size_t>(range.end() - rows.begin())};
    };
}

}  // namespace palimpsest
