// paging: which rows of a list that is in memory whole are the page that a query asks for, by its
// `order`, `after`, `before`, `offset` and `limit`.
#pragma once
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

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
};

// Of `count` rows. A page before an id is the one that ends there. invalid_request where the query
// contradicts itself; errors of `find`. `order` is the one that is meant where none is given.
Result<RowPage> find_page(const Query& query, std::size_t count, const FindPlace& find,
                          std::string_view order = "asc");

// For find_page(), of rows whose ids are looked at one by one: not_found names the parameter.
template <class Rows, class IdOf>
FindPlace place_by_id(const Rows& rows, IdOf id_of) {
    return [&rows, id_of](std::string_view id, std::string_view param) -> Result<RowPlace> {
        for (std::size_t i = 0; i < rows.size(); ++i)
            if (id_of(rows[i]) == id) return RowPlace{i, i + 1};
        return fail(ErrorCode::not_found, "the list has no row with this id", std::string(param));
    };
}

}  // namespace palimpsest
