// Search: any word ever said, also what compaction took out of the view.
//
//     auto found = memory.search({.tenant = "default", .query = "the gate for Oslo"});
//
// A query is text; the only thing that means something in it are quotes ("these words in this
// order"). A search sees one tenant, never more, and in it all conversations, those of one owner,
// or one. Words are compared without case, accents and endings; see docs/SEARCH.md for how results
// are ranked. What was acknowledged is found; what was scrubbed, erased or has expired is not.
//
// The index is made from the log and can always be made again. It is brought up to date by the
// search itself, so that nothing has to be done on a write.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "palimpsest/error.h"
#include "palimpsest/message.h"
#include "palimpsest/store.h"
#include "palimpsest/types.h"

namespace palimpsest {

// ---- asking a Memory ----------------------------------------------------------------------------

enum class SearchMode : std::uint8_t { lexical, vector, hybrid };
std::string_view search_mode_name(SearchMode mode);
std::optional<SearchMode> parse_search_mode(std::string_view name);

struct SearchRequest {
    std::string tenant = {};
    std::string query = {};
    std::optional<std::string> conversation_id = {}, owner = {};
    // What a result must be.
    std::optional<Role> role = {};
    std::optional<Time> after = {}, before = {};       // said at or after, and before
    std::string tool = {};                             // calls that tool, or is its result
    std::map<std::string, std::string> metadata = {};  // of the conversation: equal fields
    std::optional<bool> in_view = {};
    std::size_t limit = 10, offset = 0;
    // None: hybrid where there is an embedder, else lexical.
    std::optional<SearchMode> mode = {};
    // Leaves out what a person has hidden, and what the conversation's view shows or quotes anyhow.
    bool for_model = false;
};

// What a score is made of; the parts add up to it.
struct ScorePart {
    std::string_view name = {};  // own, vector, near, stretch, prior
    double value = 0;
};
struct SearchHit {
    ConversationId name = {};
    Seq seq = {};
    Time at = {};
    double score = 0;
    // Some of what was said around the best place, and which bytes of it are asked words.
    std::string snippet = {};
    std::vector<std::pair<std::size_t, std::size_t>> marks = {};
    Message message = {};
    bool in_view = false;  // the model is sent it as it was said
    std::vector<ScorePart> parts = {};
};
struct SearchPage {
    std::vector<SearchHit> hits = {};  // best first
    bool more = false;
    SearchMode mode = SearchMode::lexical;   // the one that was used
    std::uint64_t conversations = 0;         // that were searched
    std::vector<std::string> warnings = {};  // what could not be searched, or was cut of the query
};
// The snippet with its marks written into it.
std::string marked_snippet(const SearchHit& hit, std::string_view open, std::string_view close);

// `progress` is told how many of how many messages are done.
struct ReindexRequest {
    std::string tenant = {};
    bool from_scratch = true;
    std::function<void(std::uint64_t done, std::uint64_t all)> progress = {};
};
struct Reindexed {
    std::uint64_t conversations = 0, messages = 0, words = 0, bytes = 0;
    std::uint64_t vectors = 0;  // with an embedder
    std::vector<std::string> warnings = {};
};

// The tool that lets a model search its own conversation, as an element of `tools`.
constexpr std::string_view search_tool_name = "search_memory";
std::string search_tool(FormatId format);

// ---- the ports ----------------------------------------------------------------------------------

// Texts to vectors of unit length. From any thread.
class Embedder {
public:
    virtual ~Embedder() = default;
    virtual std::string model() const = 0;  // kept beside every vector: another one embeds anew
    virtual std::size_t dimension() const = 0;
    virtual Result<std::vector<std::vector<float>>> embed(std::span<const std::string> texts) = 0;
    // What is searched for; for models that want questions to be marked as such.
    virtual Result<std::vector<std::vector<float>>> embed_queries(
        std::span<const std::string> texts) {
        return embed(texts);
    }
};

class Model;  // model.h
// One that asks a model's server for OpenAI's /v1/embeddings. invalid_request when it has none.
Result<std::shared_ptr<Embedder>> make_model_embedder(std::shared_ptr<Model> model);
// One that runs inside of the process: an encoder of BERT's family with weights as floats in an
// ONNX file NAME.onnx, and NAME-tokenizer.json beside it.
// not_found when a file is not there, invalid_request for any other model; see docs/SEARCH.md.
Result<std::shared_ptr<Embedder>> make_local_embedder(const std::string& file);

// A log, or the part of it up to a seq.
struct IndexScope {
    Header header = {};
    Seq upto = seq_max;
};
struct IndexQuery {
    std::string text = {};
    std::vector<IndexScope> scopes = {};  // no log twice
    std::optional<Role> role = {};
    std::optional<Time> after = {}, before = {};
    std::string tool = {};
    std::size_t limit = 10;
    SearchMode mode = SearchMode::lexical;
};
struct IndexHit {
    std::size_t scope = 0;
    Seq seq = {};
    std::uint32_t passage = 0;  // of the message: the best one
    double score = 0;
    std::vector<ScorePart> parts = {};
};
// What became of a log when it was indexed.
struct IndexedLog {
    std::uint64_t messages = 0, words = 0, bytes = 0;
    std::uint64_t sealed = 0;  // messages that only the holder of a key can read
    // With an embedder: passages that have a vector, and about how many messages wait for theirs.
    std::uint64_t vectors = 0, unembedded = 0;
};

// An index over messages. Indexing a log again adds only what is new. Every call may come from any
// thread.
class MessageIndex {
public:
    virtual ~MessageIndex() = default;
    // Brings the log up to the header's end. Its epoch says whether what is known is still true.
    virtual Result<IndexedLog> update(const Header& header) = 0;
    // Best first; nothing for an empty text or a limit of 0. Updates what it needs.
    virtual Result<std::vector<IndexHit>> search(const IndexQuery& query) = 0;
    // Nothing of the log stays.
    virtual Result<void> remove(const std::string& tenant, const LogId& log) = 0;
    virtual std::string metrics() const = 0;  // in the text format of Prometheus
};

}  // namespace palimpsest
