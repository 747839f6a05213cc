#include "store/stores_under_test.h"

#include "store/wire_store.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <mutex>

namespace palimpsest {
namespace {

// FOLDER stands for a folder of the test's own. Power cuts are another test's subject: no syncs. A
// row that needs a running server names the environment variable that has its URL, in which UNIQUE
// stands for a name of the test's own; it takes part where that is set (see tests/live).
struct Row {
    std::string_view scheme;
    std::string_view url;
    bool persistent;
    const char* variable = nullptr;
};
constexpr Row rows[] = {
    {"memory", "memory:", false},
    {"wire", "memory:", false},
    {"sqlite", "sqlite:FOLDER/test.db?sync=off", true},
    {"files", "files:FOLDER/store?sync=never", true},
    {"sealed", "memory:?ttl=0", false},
    {"sealed_files", "files:FOLDER/store?sync=never", true},
    {"postgres", "", true, "PAL_TEST_POSTGRES"},
    {"redis", "", true, "PAL_TEST_REDIS"},
    {"rediss", "", true, "PAL_TEST_REDISS"},
    {"cluster", "", true, "PAL_TEST_CLUSTER"},
};

bool takes_part(const Row& row) {
    return !row.variable || std::getenv(row.variable);
}

void replace_word(std::string& url, std::string_view word, const std::string& by) {
    const std::size_t at = url.find(word);
    if (at != std::string::npos) url.replace(at, word.size(), by);
}

std::filesystem::path fresh_folder() {
    static std::atomic<int> count = 0;
    const auto folder = std::filesystem::temp_directory_path() /
                        ("pal_test_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
    std::filesystem::create_directories(folder);
    return folder;
}

// A clock that several threads may read while one moves it.
struct MovableClock {
    std::mutex mutex;
    Time now{std::chrono::milliseconds(1'800'000'000'000)};
};

Result<std::string> url_of(std::string_view scheme, const std::filesystem::path& folder) {
    const auto row = std::ranges::find(rows, scheme, &Row::scheme);
    if (row == std::end(rows))
        return fail(ErrorCode::invalid_request,
                    "tests/store/stores_under_test.cpp has no row for " + std::string(scheme));
    std::string url(row->variable ? std::getenv(row->variable) : row->url);
    replace_word(url, "FOLDER", folder.string());
    replace_word(url, "UNIQUE", folder.filename().string());
    return url;
}

}  // namespace

std::vector<std::string_view> stores_under_test() {
    std::vector<std::string_view> all;
    for (const Row& row : rows)
        if (takes_part(row)) all.push_back(row.scheme);
    for (const StoreKind& kind : store_kinds())
        if (std::ranges::find(rows, kind.scheme, &Row::scheme) == std::end(rows))
            all.push_back(kind.scheme);
    return all;
}

bool is_persistent(std::string_view scheme) {
    const auto row = std::ranges::find(rows, scheme, &Row::scheme);
    return row != std::end(rows) && row->persistent;
}

TestStore::TestStore(std::string_view scheme) : folder_(fresh_folder()) {
    const auto clock = std::make_shared<MovableClock>();
    clock_ = [clock] {
        const std::lock_guard hold(clock->mutex);
        return clock->now;
    };
    under_test_.persistent = is_persistent(scheme);
    under_test_.advance_clock = [clock](Duration time) {
        const std::lock_guard hold(clock->mutex);
        clock->now += time;
    };
    std::string key;
    if (scheme.starts_with("sealed")) {
        key = "file:" + (folder_ / "key").string();
        std::ofstream(folder_ / "key") << std::string(64, 'a');
    }
    under_test_.open = [read = clock_, wire = scheme == "wire", key,
                        url = url_of(scheme, folder_)]() -> Result<std::unique_ptr<Store>> {
        if (!url) return std::unexpected(url.error());
        auto store = open_store(*url, {.clock = read, .encryption_key = key});
        if (store && wire) return through_the_wire(std::move(*store));
        return store;
    };
}

TestStore::~TestStore() {
    under_test_ = {};
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

}  // namespace palimpsest
