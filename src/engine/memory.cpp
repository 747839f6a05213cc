// The facade: what is written and read as it is. Edits are in memory_edits.cpp, scrub in scrub.cpp,
// turns in turn.cpp.
#include "palimpsest/memory.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/hash.h"
#include "base/ids.h"
#include "core/metadata.h"
#include "core/policy.h"
#include "engine/input.h"
#include "engine/load.h"
#include "engine/metered_store.h"
#include "engine/pooled_tokenizer.h"
#include "engine/state.h"
#include "engine/turn.h"
#include "palimpsest/format.h"
#include "search/store_index.h"
#include "store/damaged_log.h"
#include "store/lineage.h"
#include "store/rules.h"

namespace palimpsest {
namespace {

constexpr Duration access_granularity = std::chrono::minutes(1);

// A read of content counts as an access, at most once per tenth of the time to live.
void note_access(Memory::State& state, const Header& header);

// A policy that was stored when more was allowed may be replaced by one that is no larger.
Result<void> check_size(Memory::State& state, const ConversationId& name, std::string_view policy) {
    auto checked = check_policy_size(policy);
    if (checked) return checked;
    const auto header = state.store->head(name);
    return header ? check_policy_size(policy, header->policy) : checked;
}

Result<void> check_patch(Memory::State& state, const ConversationId& name,
                         const HeaderPatch& patch) {
    if (patch.policy && !patch.policy->empty()) {
        PAL_CHECK(check_size(state, name, *patch.policy));
        PAL_TRY(policy, state.policies->read(*patch.policy));
        (void)policy;
    }
    if (patch.metadata_merge) {
        PAL_TRY(merged, merge_metadata("{}", *patch.metadata_merge));
        (void)merged;
    }
    return {};
}

// Of everything that the request asks for: the same key with another request is refused.
Fingerprint digest_of(std::string_view operation, std::string_view what, const HeaderPatch& patch) {
    Hasher hasher;
    hasher.field(operation);
    hasher.field(what);
    for (const auto& field :
         {patch.owner, patch.title, patch.system_prompt, patch.policy, patch.metadata_merge}) {
        hasher.field(field ? "1" : "0");
        hasher.field(field.value_or(""));
    }
    hasher.field(!patch.ttl ? "" : !*patch.ttl ? "none" : std::to_string((*patch.ttl)->count()));
    return hasher.digest();
}

std::vector<std::string> message_ids(const LogId& log, Seq first, Seq last) {
    std::vector<std::string> ids;
    for (Seq seq = first; seq <= last; seq = seq + 1) ids.push_back(position_id("msg_", log, seq));
    return ids;
}

MemoryOptions shared_part(const MemoryOptions& all) {
    MemoryOptions shared;
    shared.store.clock = all.store.clock;
    shared.tokenizer = all.tokenizer;
    shared.message_bytes_max = all.message_bytes_max;
    shared.models = all.models;
    shared.extensions = all.extensions;
    shared.summarizer = all.summarizer;
    shared.summary_deadline = all.summary_deadline;
    return shared;
}

Result<void> forget_words(Memory::State& state, const ConversationId& name) {
    const auto header = state.store->head(name);
    return header ? state.index->remove(name.tenant, header->log) : Result<void>{};
}

}  // namespace

Memory::Memory(std::unique_ptr<Store> store, MemoryOptions options)
    : state_(std::make_unique<State>()) {
    state_->shared = shared_part(options);
    state_->meters = std::make_unique<Meters>();
    state_->store = std::make_unique<MeteredStore>(std::move(store), *state_->meters);
    state_->tokenizer = std::make_shared<PooledTokenizer>(options.tokenizer ? options.tokenizer
                                                                            : exact_tokenizer());
    state_->clock = options.store.clock ? options.store.clock : Clock(system_now);
    state_->message_bytes_max = options.message_bytes_max;
    state_->call_notes = options.call_notes;
    state_->warn = std::move(options.warn);
    reload(std::move(options.models), std::move(options.agents));
    state_->hot = std::make_unique<HotViews>(options.hot_bytes_max);
    state_->measures =
        std::make_unique<Measures>(state_->tokenizer, *state_->models, options.hot_bytes_max / 4);
    state_->policies =
        std::make_unique<Policies>(std::move(options.policy), std::move(options.extensions));
    // Words of an encrypted store are never written: its records have one key for all.
    state_->index = std::make_unique<StoreIndex>(
        *state_->store, IndexOptions{.keep = options.store.encryption_key.empty(),
                                     .embedder = options.embedder,
                                     .background = options.background});
    state_->embedder = std::move(options.embedder);
    state_->summarizer = std::move(options.summarizer);
    state_->summary_deadline = options.summary_deadline;
    state_->background = options.background;
    state_->turns = options.turns;
    state_->turn_wait = options.turn_wait;
    state_->turn_lease = options.turn_lease;
    state_->totals = std::make_unique<UsageTotals>();
    state_->calibrations = std::make_unique<Calibrations>();
    state_->log = std::move(options.log);
}
Memory::State::~State() {
    if (totals) totals->write(*store);
    if (calibrations) calibrations->write(*store);
}
Memory::Memory(Memory&&) noexcept = default;
Memory& Memory::operator=(Memory&&) noexcept = default;
Memory::~Memory() = default;

Result<Memory> Memory::open(std::string_view store_url, MemoryOptions options) {
    PAL_CHECK(check_extensions(options.extensions));
    PAL_TRY(store, open_store(store_url, options.store));
    return Memory(std::move(store), std::move(options));
}

void Memory::reload(std::vector<OwnModel> models, std::vector<AgentSpec> agents) {
    state_->own_models.replace(std::make_unique<std::vector<OwnModel>>(models));
    state_->models.replace(std::make_unique<ModelTable>(std::move(models), state_->warn));
    state_->agents.replace(std::make_unique<std::vector<AgentSpec>>(std::move(agents)));
}

Store& Memory::store() {
    return *state_->store;
}

MemoryOptions Memory::shared_options() const {
    MemoryOptions options = state_->shared;
    options.models = *state_->own_models;
    return options;
}

std::optional<double> Memory::cost_of(std::string_view model, const Usage& usage) const {
    return cost_of_usage(*state_, model, usage);
}

void Memory::count_call(std::string_view model, const Usage& usage, double seconds) {
    state_->meters->count_step(Meters::Step::upstream, seconds);
    if (usage.input == 0) return;
    state_->meters->count_call(usage, cost_of(model, usage).value_or(0), false);
}

void Memory::write_usage() {
    state_->totals->write(*state_->store);
    state_->calibrations->write(*state_->store);
}

std::string Memory::metrics() const {
    return state_->meters->text() + state_->index->metrics();
}

Result<Header> Memory::create(const ConversationId& name, const HeaderPatch& header,
                              const WriteOptions& write) {
    PAL_CHECK(check_name(name));
    PAL_CHECK(check_patch(*state_, name, header));
    Batch batch;
    batch.key = write.key;
    batch.digest = digest_of("create", name.id, header);
    batch.expected_end = Seq{};
    batch.expected_revision = 0;
    batch.patch = header;
    // A created conversation always has a revision, so that a second create cannot pass for one.
    if (!batch.patch.owner) batch.patch.owner = "";
    auto done = state_->store->append(name, batch);
    if (!done && done.error().code == ErrorCode::conflict)
        return fail(ErrorCode::conflict, "conversation '" + name.id + "' exists already");
    PAL_TRY(appended, std::move(done));
    return appended.header;
}

Result<Written> Memory::append(const ConversationId& name, const AppendRequest& request) {
    PAL_CHECK(check_name(name));
    PAL_CHECK(check_patch(*state_, name, request.header));
    PAL_TRY(said, read_said(request.messages, request.format, *state_->tokenizer,
                            state_->message_bytes_max));
    if (said.empty() && request.header.empty() && request.notes.empty())
        return fail(ErrorCode::invalid_request, "there is no message in the input", "messages");
    Batch batch;
    batch.key = request.write.key;
    std::string what = std::string(format_name(request.format)) + std::string(request.messages);
    for (const NoteEntry& note : request.notes) what += note.kind + std::string(view_of(note.body));
    batch.digest = digest_of("append", what, request.header);
    batch.expected_end = request.write.expected_end;
    batch.if_absent = request.write.if_absent;
    batch.patch = request.header;
    for (Said& one : said)
        batch.entries.push_back({MessageEntry{.message = std::move(one.message)}, one.at});
    for (const NoteEntry& note : request.notes) batch.entries.push_back({note, {}});
    if (request.header.ttl) PAL_CHECK(forget_words(*state_, name));  // As below.
    PAL_TRY(done, state_->store->append(name, batch));
    if (!done.again) keep_hot(*state_, done.header, done.first, batch.entries);
    return Written{done.first, done.last, done.header, done.again,
                   message_ids(done.header.log, done.first, done.last - request.notes.size())};
}

Result<Header> Memory::patch(const ConversationId& name, const HeaderPatch& header,
                             std::optional<std::uint64_t> expected_revision,
                             std::optional<Seq> expected_end) {
    PAL_CHECK(check_name(name));
    PAL_CHECK(check_patch(*state_, name, header));
    Batch batch;
    batch.if_absent = IfAbsent::fail;
    batch.expected_revision = expected_revision;
    batch.expected_end = expected_end;
    batch.patch = header;
    // What is kept of its words lives as long as it was to live before.
    if (header.ttl) PAL_CHECK(forget_words(*state_, name));
    PAL_TRY(done, state_->store->append(name, batch));
    return done.header;
}

Result<Header> Memory::fork(const ConversationId& name, const ConversationId& child,
                            std::optional<Seq> at, const WriteOptions& write) {
    PAL_CHECK(check_name(name));
    PAL_CHECK(check_name(child));
    if (name.tenant != child.tenant)
        return fail(ErrorCode::invalid_request, "a fork stays with the tenant of its parent");
    PAL_TRY(parent, state_->store->head(name));
    // A repeat by its key finds the fork.
    if (write.key.empty() || !state_->store->head(child))
        PAL_CHECK(check_expected(parent, true, {.expected_end = write.expected_end}));
    PAL_TRY(point, fork_point(*state_->store, parent, at.value_or(parent.end)));
    Batch batch;
    batch.key = write.key;
    batch.digest = digest_of("fork", name.id + "@" + (at ? std::to_string(at->value) : "end"), {});
    batch.fork = point;
    batch.patch.owner = parent.owner;
    batch.patch.title = parent.title;
    batch.patch.system_prompt = parent.system_prompt;
    batch.patch.policy = parent.policy;
    batch.patch.metadata_merge = parent.metadata;
    batch.patch.ttl = parent.ttl;
    PAL_TRY(done, state_->store->append(child, batch));
    return done.header;
}

Result<Receipt> Memory::erase(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    PAL_TRY(log, log_behind(*state_->store, name));
    if (log) PAL_CHECK(state_->index->remove(name.tenant, *log));
    PAL_TRY(receipt, state_->store->erase(name));
    state_->hot->drop(name);
    state_->measures->drop(name);
    // A search may have kept them again in between.
    if (log) PAL_CHECK(state_->index->remove(name.tenant, *log));
    return receipt;
}

Result<Header> Memory::head(const ConversationId& name) {
    PAL_CHECK(check_name(name));
    return state_->store->head(name);
}

Result<Page> Memory::list(const ListQuery& query) {
    PAL_CHECK(check_id(query.tenant, "tenant"));
    return state_->store->list(query);
}

Result<View> Memory::view(const ConversationId& name, const ViewOptions& options) {
    PAL_TRY(header, head(name));
    const Seq at = options.at.value_or(header.end);
    if (at > header.end)
        return fail(ErrorCode::invalid_request,
                    "conversation '" + name.id + "' ends at seq " +
                        std::to_string(header.end.value) + ", there is no " +
                        std::to_string(at.value),
                    "at");
    View view;
    if (at == header.end) {
        PAL_TRY(hot, current_view(*state_, header));
        view = hot->view();
    } else {
        PAL_TRY(loaded, load_view(*state_->store, *state_->tokenizer, header, at));
        view = std::move(loaded.view);
    }
    note_access(*state_, header);
    if (options.window || !options.model.empty() || !options.policy.empty())
        return preview_view(*state_, view, options);
    return view;
}

Result<std::vector<Entry>> Memory::log(const ConversationId& name, const LogQuery& query) {
    PAL_TRY(header, head(name));
    ReadQuery read{.ranges = {query.range},
                   .kinds = query.kinds,
                   .limit = query.limit,
                   .newest_first = query.newest_first,
                   .content = query.content};
    PAL_TRY(entries, read_lineage(*state_->store, header, read));
    if (query.content) note_access(*state_, header);
    return entries;
}

namespace {

void note_access(Memory::State& state, const Header& header) {
    const Duration every = header.ttl ? *header.ttl / 10 : access_granularity;
    if (state.clock() - header.accessed < every) return;
    Batch batch;
    batch.if_absent = IfAbsent::fail;
    batch.expected_log = header.log;
    // Best effort: a read does not fail because its access could not be noted.
    (void)state.store->append(header.name, batch);
}

}  // namespace

}  // namespace palimpsest
