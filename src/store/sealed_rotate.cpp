// Changing the master key of an encrypted store beside others that write.
#include "store/sealed_store.h"

namespace palimpsest {
namespace {

class MasterChange {
public:
    MasterChange(Store& inner, const std::vector<MasterKey>& masters)
        : inner_(inner), masters_(masters), to_(masters.front()) {}

    // First the store's own key names the new master: from then on nobody seals with another. Then
    // the others are sealed anew, until none is found that is not.
    Result<Rotation> run() {
        PAL_CHECK(begin());
        bool again = true;
        while (again) {
            again = false;
            done_.unread.clear();
            PAL_CHECK(each_key(inner_, [&](const Record& record) -> Result<void> {
                if (record.key == store_key_record()) return {};
                PAL_TRY(went, renew(record));
                again = again || went;
                return {};
            }));
        }
        PAL_CHECK(end());
        return std::move(done_);
    }

private:
    Result<void> begin() {
        for (;;) {
            PAL_TRY(record, inner_.get_record(store_key_record()));
            PAL_TRY(old, read_wrapped_key(record));
            if (!find_master(masters_, old.master))
                return fail(ErrorCode::forbidden,
                            "wrong key: " + words_of_wrong_master(old) + ". Nothing was changed");
            if (old.master == to_.id) return {};
            PAL_TRY(key, unwrap_key(masters_, record.key, old));
            WrappedKey fresh = wrap_key(to_, record.key, key);
            fresh.state = KeyState::changing;
            fresh.former = (old.former.empty() ? "" : old.former + ", ") + old.master;
            PAL_TRY(put, put_if_same(record, fresh));
            done_.changed += put;
            if (put) return {};
        }
    }

    // The key of one log. True when there may be more to do with it.
    Result<bool> renew(const Record& record) {
        const auto old = read_wrapped_key(record);
        if (old && old->master == to_.id) return false;
        const auto key = old ? unwrap_key(masters_, record.key, *old)
                             : Result<SealKey>(std::unexpected(old.error()));
        if (!key) {
            done_.unread.push_back(record.key.tenant + ": " + key.error().message);
            return false;
        }
        PAL_TRY(put, put_if_same(record, wrap_key(to_, record.key, *key)));
        done_.changed += put;
        return true;
    }

    Result<void> end() {
        for (;;) {
            PAL_TRY(record, inner_.get_record(store_key_record()));
            PAL_TRY(mark, read_wrapped_key(record));
            if (mark.state != KeyState::changing) return {};
            // Another change of masters has begun meanwhile, and goes on from here.
            if (mark.master != to_.id)
                return fail(ErrorCode::conflict,
                            "another change of the master key, to " + mark.master +
                                ", is under way: keep every key until it is done");
            mark.state = KeyState::kept;
            mark.former.clear();
            PAL_TRY(put, put_if_same(record, mark));
            if (put) return {};
        }
    }

    // False: somebody else was faster.
    Result<bool> put_if_same(const Record& record, const WrappedKey& wrapped) {
        const auto put = inner_.put_record({.key = record.key,
                                            .value = write_wrapped_key(wrapped),
                                            .expected = record.version,
                                            .purge = true});
        if (put) return true;
        if (put.error().code == ErrorCode::conflict) return false;
        return std::unexpected(put.error());
    }

    Store& inner_;
    const std::vector<MasterKey>& masters_;
    const MasterKey& to_;
    Rotation done_;
};

}  // namespace

Result<Rotation> SealedStore::rotate(Store& inner, const std::vector<MasterKey>& masters) {
    return MasterChange(inner, masters).run();
}

}  // namespace palimpsest
