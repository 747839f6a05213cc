#include "store/redis_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "base/ids.h"
#include "store/entry_guard.h"
#include "store/epoch_ms.h"
#include "store/shared_payload.h"

namespace palimpsest {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

bool is_plain(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && c != '{' && c != '}' && c != '/' && c != '%' && c != 0x7f;
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::string> unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        std::uint8_t byte = 0;
        if (i + 3 > text.size()) return std::nullopt;
        const auto [end, fault] =
            std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
        if (fault != std::errc{} || end != text.data() + i + 3) return std::nullopt;
        out += static_cast<char>(byte);
        i += 2;
    }
    return out;
}

// The next word of a line, which gets shorter.
std::string_view take_word(std::string_view& line) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
    return word;
}

std::optional<std::uint64_t> take_number(std::string_view& line) {
    return number_of<std::uint64_t>(take_word(line));
}

// A field of a record up to the next colon.
std::string_view take_field(std::string_view& record) {
    const std::string_view field = record.substr(0, record.find(':'));
    record.remove_prefix(std::min(record.size(), field.size() + 1));
    return field;
}

// False: it is no number.
bool set_number(std::string_view text, std::uint64_t& number) {
    const auto value = number_of<std::uint64_t>(text);
    number = value.value_or(0);
    return value.has_value();
}
bool set_seq(std::string_view text, Seq& seq) {
    return set_number(text, seq.value);
}
bool set_time(std::string_view text, Time& time) {
    const auto value = number_of<std::int64_t>(text);
    time = time_of(value.value_or(0));
    return value.has_value();
}
bool set_ttl(std::string_view text, std::optional<Duration>& ttl) {
    const auto value = number_of<std::int64_t>(text);
    ttl = Duration(value.value_or(0));
    return value.has_value();
}
bool set_id(std::string_view text, std::string& id) {
    auto name = name_of(text);
    if (name) id = std::move(name->id);
    return name.has_value();
}

// False: it holds what that field cannot hold.
bool set_field(TreeLog& log, std::string_view name, const std::string& value) {
    Header& header = log.header;
    if (name == "end") return set_seq(value, header.end);
    if (name == "basis") return set_seq(value, header.basis);
    if (name == "messages") return set_number(value, header.messages);
    if (name == "epoch") return set_number(value, header.epoch);
    if (name == "revision") return set_number(value, header.revision);
    if (name == "updated") return set_time(value, header.updated);
    if (name == "accessed") return set_time(value, header.accessed);
    if (name == "created") return set_time(value, header.created);
    if (name == "expires") return set_time(value, header.expires.emplace());
    if (name == "ttl") return set_ttl(value, header.ttl);
    if (name == "name") return set_id(value, header.name.id);
    if (name == "parent") return (header.parent = parse_log_id(value)).has_value();
    if (name == "base") return set_seq(value, header.base);
    if (name == "base_basis") return set_seq(value, log.base_basis);
    if (name == "base_messages") return set_number(value, log.base_messages);
    if (name == "tenant") header.name.tenant = value;
    if (name == "owner") header.owner = value;
    if (name == "title") header.title = value;
    if (name == "prompt") header.system_prompt = value;
    if (name == "metadata") header.metadata = value;
    if (name == "policy") header.policy = value;
    return true;
}

// Every header has these ...
constexpr std::string_view lasting_fields[] = {"tenant",   "base",    "end",      "basis",
                                               "messages", "epoch",   "revision", "created",
                                               "updated",  "accessed"};
// ... and all or none of each row: with a name, of a fork, with a time to live.
constexpr std::array<std::string_view, 6> fields_together[] = {
    {"name", "owner", "title", "prompt", "metadata", "policy"},
    {"parent", "base_basis", "base_messages"},
    {"ttl", "expires"}};

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (is_plain(c)) {
            out += c;
            continue;
        }
        out += '%';
        out += digits[static_cast<unsigned char>(c) >> 4U];
        out += digits[static_cast<unsigned char>(c) & 15U];
    }
    return out;
}

std::string glob_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (std::string_view("*?[]\\^-").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}

std::string tag_of(const ConversationId& name) {
    return escaped(name.tenant) + "/" + escaped(name.id);
}

std::optional<ConversationId> name_of(std::string_view tag) {
    const std::size_t slash = tag.find('/');
    if (slash == tag.npos) return std::nullopt;
    auto tenant = unescaped(tag.substr(0, slash)), id = unescaped(tag.substr(slash + 1));
    if (!tenant || !id) return std::nullopt;
    return ConversationId{std::move(*tenant), std::move(*id)};
}

std::optional<NameKey> parse_name_key(std::string raw, const std::string& own_tag) {
    std::string_view rest = raw;
    const auto log = parse_log_id(take_word(rest));
    if (!log) return std::nullopt;
    NameKey key{.place = {own_tag, *log}};
    key.linked = !rest.empty();
    if (key.linked) key.place.tag = take_word(rest);
    if (!rest.empty()) key.until = number_of<std::int64_t>(rest);
    key.raw = std::move(raw);
    return key;
}

const std::string* field_of(const RedisReply& fields, std::string_view name) {
    for (std::size_t i = 0; i + 1 < fields.items.size(); i += 2)
        if (fields.at(i) == name) return &fields.at(i + 1);
    return nullptr;
}

std::vector<std::string> lacking_fields(const RedisReply& fields) {
    std::vector<std::string> lacking;
    for (const std::string_view name : lasting_fields)
        if (!field_of(fields, name)) lacking.emplace_back(name);
    for (const auto& together : fields_together) {
        std::vector<std::string> missing;
        bool any = false;
        for (const std::string_view name : together) {
            if (name.empty()) continue;
            if (field_of(fields, name))
                any = true;
            else
                missing.emplace_back(name);
        }
        if (any) std::ranges::move(missing, std::back_inserter(lacking));
    }
    // What is above the beginning of a log was said in another.
    const std::string* base = field_of(fields, "base");
    if (base && number_of<std::uint64_t>(*base).value_or(0) > 0 && !field_of(fields, "parent") &&
        !field_of(fields, "base_basis") && !field_of(fields, "base_messages"))
        lacking.emplace_back("parent");
    return lacking;
}

std::vector<std::string> unfit_fields(const RedisReply& fields) {
    std::vector<std::string> unfit = lacking_fields(fields);
    TreeLog log;
    for (std::size_t i = 0; i + 1 < fields.items.size(); i += 2)
        if (!set_field(log, fields.at(i), fields.at(i + 1))) unfit.push_back(fields.at(i));
    return unfit;
}

std::string header_fault(const RedisReply& fields) {
    std::string fault;
    for (const std::string& name : lacking_fields(fields))
        fault += (fault.empty() ? "lacks `" : ", `") + name + "`";
    TreeLog log;
    for (std::size_t i = 0; fault.empty() && i + 1 < fields.items.size(); i += 2)
        if (!set_field(log, fields.at(i), fields.at(i + 1)))
            fault = "has no valid `" + fields.at(i) + "`";
    return fault;
}

Result<TreeLog> read_header(const RedisReply& fields, const LogId& log) {
    TreeLog found;
    found.header.log = log;
    bool whole = lacking_fields(fields).empty();
    for (std::size_t i = 0; whole && i + 1 < fields.items.size(); i += 2)
        whole = set_field(found, fields.at(i), fields.at(i + 1));
    if (whole) return found;
    const std::string* name = field_of(fields, "name");
    const auto id = name ? name_of(*name) : std::nullopt;
    return fail(ErrorCode::internal,
                "log " + hex(log) + (id ? " of \"" + id->id + "\"" : "") +
                    " is damaged: its header " + header_fault(fields) +
                    "; run `pal doctor` to see what is whole, and `pal doctor --repair` to mend "
                    "what can be");
}

bool apply_hot(Header& header, std::string_view hot) {
    const auto log = parse_log_id(take_word(hot));
    if (!log || *log != header.log) return false;
    std::array<std::optional<std::uint64_t>, 7> numbers;
    for (auto& number : numbers)
        if (!(number = take_number(hot))) return false;
    header.end = Seq{*numbers[0]};
    header.basis = Seq{*numbers[1]};
    header.messages = *numbers[2];
    header.epoch = *numbers[3];
    header.revision = *numbers[4];
    header.updated = time_of(static_cast<std::int64_t>(*numbers[5]));
    header.accessed = time_of(static_cast<std::int64_t>(*numbers[6]));
    const auto expires = number_of<std::int64_t>(take_word(hot));
    const auto ttl = number_of<std::int64_t>(take_word(hot));
    header.expires = expires ? std::optional(time_of(*expires)) : std::nullopt;
    header.ttl = ttl ? std::optional(Duration(*ttl)) : std::nullopt;
    return true;
}

std::vector<std::string> new_fields(const TreeLog& log) {
    const Header& header = log.header;
    const auto text = [](std::uint64_t value) { return std::to_string(value); };
    std::vector<std::string> fields{
        "tenant",   header.name.tenant,     "base",   text(header.base.value),
        "end",      text(header.end.value), "basis",  text(header.basis.value),
        "messages", text(header.messages),  "epoch",  text(header.epoch),
        "revision", text(header.revision),  "owner",  header.owner,
        "title",    header.title,           "prompt", header.system_prompt,
        "metadata", header.metadata,        "policy", header.policy};
    const auto add = [&](std::string name, std::string value) {
        fields.push_back(std::move(name));
        fields.push_back(std::move(value));
    };
    if (header.parent) add("parent", hex(*header.parent));
    if (header.parent) add("base_basis", text(log.base_basis.value));
    if (header.parent) add("base_messages", text(log.base_messages));
    if (header.ttl) add("ttl", std::to_string(header.ttl->count()));
    return fields;
}

std::vector<std::string> patched_fields(const Header& header, const HeaderPatch& patch) {
    std::vector<std::string> fields{"revision", std::to_string(header.revision)};
    const auto add = [&](bool changed, std::string name, std::string value) {
        if (!changed) return;
        fields.push_back(std::move(name));
        fields.push_back(std::move(value));
    };
    add(patch.owner.has_value(), "owner", header.owner);
    add(patch.title.has_value(), "title", header.title);
    add(patch.system_prompt.has_value(), "prompt", header.system_prompt);
    add(patch.policy.has_value(), "policy", header.policy);
    add(patch.metadata_merge.has_value(), "metadata", header.metadata);
    add(patch.ttl.has_value(), "ttl", header.ttl ? std::to_string(header.ttl->count()) : "");
    return fields;
}

bool add_entry_words(const Batch& batch, std::vector<std::string>& words) {
    bool shares = false;
    for (const Draft& draft : batch.entries) {
        EncodedBody body = encode_guarded(draft.body);
        words.push_back(std::to_string(static_cast<unsigned>(kind_of(draft.body))));
        words.push_back(draft.at ? std::to_string(ms_of(*draft.at)) : "");
        std::string payload = shared_hash(body.payload);
        words.push_back(!payload.empty() ? "2" : body.payload ? "1" : "0");
        if (!payload.empty()) shares = true;
        words.push_back(std::move(body.meta));
        payload += view_of(body.payload);
        words.push_back(std::move(payload));
    }
    return shares;
}

Result<Entry> read_record(Seq seq, std::string_view record, const std::string& payload,
                          bool content) {
    const auto kind = number_of<std::uint8_t>(take_field(record));
    const auto at = number_of<std::int64_t>(take_field(record));
    const auto ordinal = number_of<std::uint64_t>(take_field(record));
    const bool has_payload = take_field(record) != "0";
    if (!kind || *kind >= entry_kind_count || !at || !ordinal)
        return fail(ErrorCode::internal,
                    "entry " + std::to_string(seq.value) + " is damaged: it has no valid head");
    Bytes bytes;
    if (has_payload && content) bytes = make_bytes(payload);
    PAL_TRY(body, decode_guarded({seq, static_cast<EntryKind>(*kind), record, bytes, content}));
    return Entry{.seq = seq, .at = time_of(*at), .ordinal = *ordinal, .body = std::move(body)};
}

std::string digest_hex(const Fingerprint& digest) {
    std::string out;
    for (const std::uint64_t half : {digest.low, digest.high})
        for (unsigned i = 16; i-- > 0;) out += digits[(half >> (4 * i)) & 15U];
    return out;
}

std::unexpected<Error> entries_lost(const LogId& log, const RedisReply& reply) {
    return fail(ErrorCode::internal, "log " + hex(log) + " is damaged: the server has " +
                                         reply.at(2) + " entries of it, which should end at " +
                                         reply.at(3) + "; run `pal doctor` to see what is whole");
}

std::unexpected<Error> index_lost(const LogId& log, const RedisReply& reply) {
    return fail(ErrorCode::internal,
                "log " + hex(log) + " is damaged: the index of its edits has " + reply.at(2) +
                    " of " + reply.at(3) + "; `pal doctor --repair` writes it anew");
}

}  // namespace palimpsest
