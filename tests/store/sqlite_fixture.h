// What the tests of the SQLite store share: a folder that goes away, a store in it, and messages.
#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "palimpsest/store.h"

namespace palimpsest {

class TestFolder {
public:
    TestFolder() : TestFolder(std::filesystem::temp_directory_path()) {}
    explicit TestFolder(const std::filesystem::path& parent) {
        std::string name = (parent / "pal_XXXXXX").string();
        if (!::mkdtemp(name.data())) std::abort();
        path_ = name;
    }
    ~TestFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;
    std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }
    std::string url() const { return "sqlite:" + file("store.db"); }

private:
    std::string path_;
};

inline std::unique_ptr<Store> open_good(const std::string& url, const StoreOptions& options = {}) {
    Result<std::unique_ptr<Store>> store = open_store(url, options);
    if (store) return std::move(*store);
    ADD_FAILURE() << store.error().message;
    std::abort();
}

inline Draft said(std::string text) {
    MessageEntry entry;
    entry.message.raw = make_bytes(std::move(text));
    return {.body = std::move(entry)};
}

inline std::string text_of(const Entry& entry) {
    const auto* message = std::get_if<MessageEntry>(&entry.body);
    return message ? std::string(view_of(message->message.raw)) : "";
}

inline Batch batch_of(std::string text) {
    Batch batch;
    batch.entries.push_back(said(std::move(text)));
    return batch;
}

inline std::string bytes_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace palimpsest
