// The words in which conformance checks are written. A failed expectation throws Unmet, which
// run_check() catches; nothing else in the project may throw.
#pragma once
#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "palimpsest/conformance.h"
#include "store/lineage.h"

namespace palimpsest {

using Where = std::source_location;

struct Unmet {
    std::string message;
};
[[noreturn]] void unmet(const std::string& what, const Where& where);

// The store under test, open; closed and opened again by reopen().
class Probe {
public:
    explicit Probe(const StoreUnderTest& under_test);
    Store* operator->() { return store_.get(); }
    Store& operator*() { return *store_; }
    void advance(Duration time) { under_test_.advance_clock(time); }
    void reopen(const Where& where = Where::current());

private:
    const StoreUnderTest& under_test_;
    std::unique_ptr<Store> store_;
};

// ---- expecting ----------------------------------------------------------------------------------

void check(bool holds, std::string_view what, const Where& where = Where::current());

// The value of a call that has to succeed.
template <class T>
T must(Result<T> result, const Where& where = Where::current()) {
    if (!result) unmet("the call failed: " + result.error().message, where);
    if constexpr (!std::same_as<T, void>) return *std::move(result);
}

template <class T>
void refused(const Result<T>& result, ErrorCode code, const Where& where = Where::current()) {
    const std::string want(error_info(code).name);
    if (result) unmet("the call was done, and should have been refused as " + want, where);
    if (result.error().code == code) return;
    unmet("refused as " + std::string(error_info(result.error().code).name) + ", not as " + want +
              ": " + result.error().message,
          where);
}

// Values as text, for comparing and showing.
std::string show(const std::string& text);
std::string show(const char* text);
std::string show(std::unsigned_integral auto number) {
    return std::to_string(number);
}
std::string show(bool value);
std::string show(Seq seq);
std::string show(const LogId& log);
std::string show(Time time);
std::string show(const Header& header);  // every field
std::string show(const Body& body);      // every byte
std::string show(const Entry& entry);
template <class T>
std::string show(const std::optional<T>& value) {
    return value ? show(*value) : "none";
}
template <class T>
std::string show(const std::vector<T>& values) {
    std::string text;
    for (const T& value : values) text += (text.empty() ? "" : " ") + show(value);
    return "[" + text + "]";
}

template <class A, class B>
void equal(const A& have, const B& want, const Where& where = Where::current()) {
    const std::string is = show(have), should_be = show(want);
    if (is != should_be) unmet("is " + is + ", should be " + should_be, where);
}

// ---- saying -------------------------------------------------------------------------------------

using Texts = std::vector<std::string>;

ConversationId named(std::string id);  // in the tenant "t"
Body said(std::string_view text);      // a user's message whose raw bytes are `text`
Body pinned(Seq target);               // an entry with a basis
Body marked(std::string name, std::string metadata = "{}");  // a checkpoint
Batch says(std::initializer_list<std::string_view> texts);
Batch writes(std::vector<Body> bodies);
Batch patches(HeaderPatch patch);
Batch keyed(std::string key, Batch batch);  // the digest is that of the texts

// `id` with these messages, for ever unless the batch says otherwise.
Header written(Probe& store, const std::string& id, std::initializer_list<std::string_view> texts,
               const Where& where = Where::current());
Result<Appended> fork(Probe& store, const std::string& parent, Seq at, const std::string& child,
                      Batch batch = {});

Texts texts_of(const std::vector<Entry>& entries);
// The texts of all messages that the conversation sees.
Texts texts(Probe& store, const std::string& id, const Where& where = Where::current());
Texts own_texts(Probe& store, const LogId& log, const ReadQuery& query = {},
                const Where& where = Where::current());
Texts ids(const Page& page);
Texts listed(Probe& store, ListQuery query, const Where& where = Where::current());

// Runs `work(0)` to `work(count - 1)` at the same time; an expectation unmet in any of them is.
void together(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace palimpsest
