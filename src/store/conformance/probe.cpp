#include "store/conformance/probe.h"

#include <algorithm>
#include <latch>
#include <mutex>
#include <thread>

#include "base/hash.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/codec.h"

namespace palimpsest {
namespace {

std::string hex_digits(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes) {
        text += "0123456789abcdef"[(static_cast<unsigned char>(byte) >> 4U) & 15U];
        text += "0123456789abcdef"[static_cast<unsigned char>(byte) & 15U];
    }
    return text;
}

}  // namespace

void unmet(const std::string& what, const Where& where) {
    const std::string_view file = where.file_name();
    throw Unmet{std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(where.line()) +
                ": " + what};
}

void check(bool holds, std::string_view what, const Where& where) {
    if (!holds) unmet("does not hold: " + std::string(what), where);
}

Probe::Probe(const StoreUnderTest& under_test)
    : under_test_(under_test), store_(must(under_test.open())) {}

void Probe::reopen(const Where& where) {
    store_.reset();
    store_ = must(under_test_.open(), where);
}

// ---- showing ------------------------------------------------------------------------------------

std::string show(const std::string& text) {
    return '"' + text + '"';
}
std::string show(const char* text) {
    return show(std::string(text));
}
std::string show(bool value) {
    return value ? "true" : "false";
}
std::string show(Seq seq) {
    return std::to_string(seq.value);
}
std::string show(const LogId& log) {
    return hex(log);
}
std::string show(Time time) {
    return format_time(time);
}

std::string show(const Header& header) {
    const auto ttl = header.ttl ? std::to_string(header.ttl->count()) : "none";
    std::string text = header.name.tenant + "/" + header.name.id + " log " + hex(header.log);
    text += " parent " + show(header.parent) + " base " + show(header.base);
    text += " end " + show(header.end) + " basis " + show(header.basis);
    text += " messages " + show(header.messages) + " revision " + show(header.revision);
    text += " epoch " + show(header.epoch) + " owner " + show(header.owner);
    text += " title " + show(header.title) + " prompt " + show(header.system_prompt);
    text += " metadata " + header.metadata + " policy " + show(header.policy);
    text += " created " + show(header.created) + " updated " + show(header.updated);
    return text + " accessed " + show(header.accessed) + " ttl " + ttl + " expires " +
           show(header.expires);
}

std::string show(const Body& body) {
    const EncodedBody encoded = encode_body(body);
    std::string text(entry_kind_name(kind_of(body)));
    text += " meta " + hex_digits(encoded.meta) + " payload ";
    return text + (encoded.payload ? hex_digits(*encoded.payload) : "none");
}

std::string show(const Entry& entry) {
    return "seq " + show(entry.seq) + " at " + show(entry.at) + " ordinal " + show(entry.ordinal) +
           " " + show(entry.body);
}

// ---- saying -------------------------------------------------------------------------------------

ConversationId named(std::string id) {
    return {"t", std::move(id)};
}

Body said(std::string_view text) {
    return MessageEntry{.message = {.shape = {.text = true},
                                    .raw = make_bytes(std::string(text)),
                                    .fingerprint = hash_bytes(text),
                                    .count = {1, static_cast<std::uint32_t>(text.size())}}};
}

Body pinned(Seq target) {
    return PinEntry{.targets = {target}, .basis = {.upto = target, .pinned = {target}}};
}

Body marked(std::string name, std::string metadata) {
    return CheckpointEntry{.name = std::move(name), .metadata = std::move(metadata)};
}

Batch writes(std::vector<Body> bodies) {
    Batch batch;
    for (Body& body : bodies) batch.entries.push_back({.body = std::move(body)});
    return batch;
}

Batch says(std::initializer_list<std::string_view> texts) {
    std::vector<Body> bodies;
    for (const std::string_view text : texts) bodies.push_back(said(text));
    return writes(std::move(bodies));
}

Batch patches(HeaderPatch patch) {
    return Batch{.patch = std::move(patch)};
}

Batch keyed(std::string key, Batch batch) {
    Hasher hasher;
    for (const Draft& draft : batch.entries) hasher.field(show(draft.body));
    batch.digest = hasher.digest();
    batch.key = std::move(key);
    return batch;
}

Header written(Probe& store, const std::string& id, std::initializer_list<std::string_view> texts,
               const Where& where) {
    Batch batch = says(texts);
    batch.patch.ttl = std::optional<Duration>();
    return must(store->append(named(id), batch), where).header;
}

Result<Appended> fork(Probe& store, const std::string& parent, Seq at, const std::string& child,
                      Batch batch) {
    PAL_TRY(header, store->head(named(parent)));
    PAL_TRY(point, fork_point(*store, header, at));
    batch.fork = point;
    if (!batch.patch.ttl) batch.patch.ttl = std::optional<Duration>();
    return store->append(named(child), batch);
}

Texts texts_of(const std::vector<Entry>& entries) {
    Texts found;
    for (const Entry& entry : entries)
        if (const auto* message = std::get_if<MessageEntry>(&entry.body))
            found.emplace_back(view_of(message->message.raw));
    return found;
}

Texts texts(Probe& store, const std::string& id, const Where& where) {
    const Header header = must(store->head(named(id)), where);
    return texts_of(must(read_lineage(*store, header, {}), where));
}

Texts own_texts(Probe& store, const LogId& log, const ReadQuery& query, const Where& where) {
    return texts_of(must(store->read(log, query), where));
}

Texts ids(const Page& page) {
    Texts found;
    for (const Header& header : page.headers) found.push_back(header.name.id);
    return found;
}

Texts listed(Probe& store, ListQuery query, const Where& where) {
    if (query.tenant.empty()) query.tenant = "t";
    return ids(must(store->list(query), where));
}

void together(std::size_t count, const std::function<void(std::size_t)>& work) {
    std::latch start(static_cast<std::ptrdiff_t>(count));
    std::mutex mutex;
    std::optional<Unmet> first;
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < count; ++i)
            threads.emplace_back([&, i] {
                start.arrive_and_wait();
                try {
                    work(i);
                } catch (const Unmet& failure) {
                    const std::lock_guard hold(mutex);
                    first = failure;
                }
            });
    }
    if (first) throw *first;
}

}  // namespace palimpsest
