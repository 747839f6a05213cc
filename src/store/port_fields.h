// The fields of the port's types, each type's listed once, for writing and for reading alike.
//
// `fields(io, value)` visits every field in a fixed order. With a FieldWriter it appends them, with
// a FieldReader it fills them in; so what is written is what is read, and a field that is added to
// a list travels both ways.
#pragma once
#include <array>
#include <chrono>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/wire.h"
#include "core/codec.h"
#include "palimpsest/store.h"

namespace palimpsest {

template <class T>
concept Number = std::unsigned_integral<T> || std::is_enum_v<T>;

class FieldWriter {
public:
    explicit FieldWriter(WireWriter& out) : out_(out) {}
    template <class... T>
    void operator()(const T&... values) {
        (one(values), ...);
    }

private:
    template <Number T>
    void one(T value) {
        out_.varint(static_cast<std::uint64_t>(value));
    }
    void one(const std::string& text) { out_.text(text); }
    void one(Time time) {
        out_.fixed64(static_cast<std::uint64_t>(time.time_since_epoch().count()));
    }
    void one(Duration time) { out_.fixed64(static_cast<std::uint64_t>(time.count())); }
    void one(const std::array<std::uint8_t, 16>& bytes) {
        for (const std::uint8_t byte : bytes) out_.byte(byte);
    }
    void one(const Body& body) {
        const EncodedBody encoded = encode_body(body);
        out_.byte(static_cast<std::uint8_t>(kind_of(body)));
        out_.text(encoded.meta);
        out_.byte(encoded.payload ? 1 : 0);
        if (encoded.payload) out_.text(*encoded.payload);
    }
    template <class T>
    void one(const std::optional<T>& value) {
        out_.byte(value ? 1 : 0);
        if (value) one(*value);
    }
    template <class T>
    void one(const std::vector<T>& list) {
        out_.varint(list.size());
        for (const T& value : list) one(value);
    }
    void one(const std::map<std::string, std::string>& map) {
        out_.varint(map.size());
        for (const auto& [key, value] : map) (*this)(key, value);
    }
    template <class T>
        requires std::is_class_v<T>
    void one(const T& value) {
        fields(*this, const_cast<T&>(value));
    }
    WireWriter& out_;
};

class FieldReader {
public:
    explicit FieldReader(WireReader& in) : in_(in) {}
    template <class... T>
    void operator()(T&... values) {
        (one(values), ...);
    }
    bool done() const { return good_ && in_.done(); }

private:
    template <Number T>
    void one(T& value) {
        value = static_cast<T>(in_.varint());
    }
    void one(std::string& text) { text = std::string(in_.text()); }
    void one(Time& time) { time = Time(Duration(static_cast<std::int64_t>(in_.fixed64()))); }
    void one(Duration& time) { time = Duration(static_cast<std::int64_t>(in_.fixed64())); }
    void one(std::array<std::uint8_t, 16>& bytes) {
        for (std::uint8_t& byte : bytes) byte = in_.byte();
    }
    void one(Body& body) {
        const std::uint8_t kind = in_.byte();
        const std::string_view meta = in_.text();
        const Bytes payload = in_.byte() != 0 ? make_bytes(std::string(in_.text())) : Bytes();
        good_ = good_ && in_.ok() && kind < entry_kind_count;
        if (!good_) return;
        Result<Body> decoded = decode_body(static_cast<EntryKind>(kind), meta, payload);
        good_ = decoded.has_value();
        if (good_) body = *std::move(decoded);
    }
    template <class T>
    void one(std::optional<T>& value) {
        value.reset();
        if (in_.byte() != 0) one(value.emplace());
    }
    template <class T>
    void one(std::vector<T>& list) {
        list.clear();
        // One by one: a count alone must not make us take memory.
        for (std::size_t left = in_.count(1); left > 0 && in_.ok() && good_; --left)
            one(list.emplace_back());
    }
    void one(std::map<std::string, std::string>& map) {
        map.clear();
        for (std::size_t left = in_.count(2); left > 0; --left) {
            const std::string key(in_.text());
            map[key] = std::string(in_.text());
        }
    }
    template <class T>
        requires std::is_class_v<T>
    void one(T& value) {
        fields(*this, value);
    }
    WireReader& in_;
    bool good_ = true;
};

template <class Io>
void fields(Io& io, Seq& v) {
    io(v.value);
}
template <class Io>
void fields(Io& io, Range& v) {
    io(v.from, v.to);
}
template <class Io>
void fields(Io& io, LogId& v) {
    io(v.bytes);
}
template <class Io>
void fields(Io& io, Fingerprint& v) {
    io(v.low, v.high);
}
template <class Io>
void fields(Io& io, Kinds& v) {
    io(v.bits);
}
template <class Io>
void fields(Io& io, ConversationId& v) {
    io(v.tenant, v.id);
}
template <class Io>
void fields(Io& io, Header& v) {
    io(v.name, v.log, v.parent, v.base, v.end, v.basis, v.messages, v.revision, v.epoch, v.owner,
       v.title, v.system_prompt, v.metadata, v.policy, v.created, v.updated, v.accessed, v.ttl,
       v.expires);
}
template <class Io>
void fields(Io& io, HeaderPatch& v) {
    io(v.owner, v.title, v.system_prompt, v.policy, v.metadata_merge, v.ttl);
}
template <class Io>
void fields(Io& io, Draft& v) {
    io(v.body, v.at);
}
template <class Io>
void fields(Io& io, ForkPoint& v) {
    io(v.parent, v.at, v.basis, v.messages, v.epoch);
}
template <class Io>
void fields(Io& io, Stamp& v) {
    io(v.created, v.updated, v.accessed);
}
template <class Io>
void fields(Io& io, Batch& v) {
    io(v.key, v.digest, v.expected_log, v.expected_end, v.expected_basis, v.expected_epoch,
       v.expected_revision, v.if_absent, v.new_log, v.fork, v.patch, v.entries, v.stamp);
}
template <class Io>
void fields(Io& io, Appended& v) {
    io(v.first, v.last, v.header, v.again, v.created);
}
template <class Io>
void fields(Io& io, ReadQuery& v) {
    io(v.ranges, v.kinds, v.limit, v.newest_first, v.content);
}
template <class Io>
void fields(Io& io, Entry& v) {
    io(v.seq, v.at, v.ordinal, v.body);
}
template <class Io>
void fields(Io& io, ListQuery& v) {
    io(v.tenant, v.owner, v.metadata, v.children_of, v.sort, v.newest_first, v.limit, v.after);
}
template <class Io>
void fields(Io& io, Page& v) {
    io(v.headers, v.next);
}
template <class Io>
void fields(Io& io, Replacement& v) {
    io(v.log, v.seq, v.body);
}
template <class Io>
void fields(Io& io, Receipt& v) {
    io(v.entries, v.logs, v.kept_for, v.remains);
}
template <class Io>
void fields(Io& io, RecordKey& v) {
    io(v.tenant, v.space, v.key);
}
template <class Io>
void fields(Io& io, Record& v) {
    io(v.key, v.value, v.version, v.expires);
}
template <class Io>
void fields(Io& io, RecordWrite& v) {
    io(v.key, v.value, v.expected, v.ttl, v.purge);
}
template <class Io>
void fields(Io& io, RecordQuery& v) {
    io(v.tenant, v.space, v.prefix, v.after, v.limit);
}
template <class Io>
void fields(Io& io, RecordSpace& v) {
    io(v.tenant, v.space);
}
template <class Io>
void fields(Io& io, Contents& v) {
    io(v.tenants, v.spaces);
}
template <class Io>
void fields(Io& io, Durability& v) {
    io(v.level, v.process_killed, v.power_cut);
}
template <class Io>
void fields(Io& io, Finding& v) {
    io(v.what, v.where, v.message);
}
template <class Io>
void fields(Io& io, CheckReport& v) {
    io(v.logs, v.entries, v.records, v.findings);
}
template <class Io>
void fields(Io& io, Error& v) {
    io(v.code, v.message, v.param);
}

}  // namespace palimpsest
