// A small store with known contents, and what is left of it after damage.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "store/sqlite_fixture.h"

namespace palimpsest {

// In memory where there is such a place: hundreds of stores are opened here and no power is cut.
inline std::filesystem::path quick_place() {
    const std::filesystem::path memory = "/dev/shm";
    return ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

using StoredTexts = std::map<std::string, std::vector<std::string>>;  // texts by conversation

inline StoredTexts make_store(const std::string& url) {
    StoredTexts contents;
    const auto store = open_good(url);
    for (int i = 0; i < 60; ++i) {
        const std::string name = "c" + std::to_string(i % 12);
        // Some say the same, and enough of it to be stored once.
        const std::string text = i % 16 == 7
                                     ? std::string(70'000, 'L')
                                     : name + ":" + std::to_string(i) +
                                           std::string(static_cast<std::size_t>(i * i * 3), 'z');
        Batch batch = batch_of(text);
        batch.patch.title = "title of " + name;
        batch.patch.metadata_merge = R"({"k":"v"})";
        EXPECT_TRUE(store->append({"t", name}, batch));
        contents[name].push_back(text);
    }
    return contents;
}

struct Verdict {
    bool refused = false;    // it did not open, or something could not be read
    std::string wrong = {};  // data that is not what was written
    bool missing = false;    // something is said not to exist
    bool found = false;      // check() reports damage
};

inline void read_one(Store& store, const std::string& name, const std::vector<std::string>& texts,
                     Verdict& verdict) {
    const Result<Header> header = store.head(ConversationId{"t", name});
    if (!header) {
        (header.error().code == ErrorCode::not_found ? verdict.missing : verdict.refused) = true;
        return;
    }
    if (header->title != "title of " + name || header->end.value != texts.size())
        verdict.wrong = "the header of " + name;
    const auto entries = store.read(header->log, {});
    if (!entries) {
        (entries.error().code == ErrorCode::not_found ? verdict.missing : verdict.refused) = true;
        return;
    }
    if (entries->size() != texts.size()) verdict.wrong = "the length of " + name;
    for (std::size_t i = 0; i < std::min(entries->size(), texts.size()); ++i)
        if (text_of((*entries)[i]) != texts[i]) verdict.wrong = "an entry of " + name;
}

inline Verdict judge(const std::string& url, const StoredTexts& contents) {
    Verdict verdict;
    const Result<std::unique_ptr<Store>> store = open_store(url);
    if (!store) {
        verdict.refused = true;
        if (store.error().message.empty()) verdict.wrong = "an error without a word";
        return verdict;
    }
    for (const auto& [name, texts] : contents) read_one(**store, name, texts, verdict);
    const Result<Page> page = (*store)->list({.tenant = "t"});
    if (!page) verdict.refused = true;
    if (page && page->headers.size() < contents.size()) verdict.missing = true;
    const Result<CheckReport> report = (*store)->check({});
    verdict.found = !report || !report->findings.empty();
    return verdict;
}

inline int setting(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text ? std::atoi(text) : otherwise;
}

}  // namespace palimpsest
