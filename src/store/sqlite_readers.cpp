#include "store/sqlite_readers.h"

#include "store/sqlite_schema.h"

namespace palimpsest {

SqliteReaders::Loan::~Loan() {
    if (db_) pool_->give_back(std::move(db_));
}

Result<SqliteReaders::Loan> SqliteReaders::borrow() {
    PAL_TRY(db, take());
    Loan loan(this, std::move(db));
    SqliteQuery begin = (*loan).query("BEGIN");
    PAL_CHECK(begin.run());
    return loan;
}

Result<std::unique_ptr<SqliteDatabase>> SqliteReaders::take() {
    {
        std::unique_lock lock(mutex_);
        free_.wait(lock, [&] { return left_ > 0; });
        --left_;
        if (!idle_.empty()) {
            std::unique_ptr<SqliteDatabase> db = std::move(idle_.back());
            idle_.pop_back();
            return db;
        }
    }
    Result<std::unique_ptr<SqliteDatabase>> opened = open_sqlite_reader(path_);
    if (!opened) give_back(nullptr);
    return opened;
}

void SqliteReaders::give_back(std::unique_ptr<SqliteDatabase> db) {
    if (db) db->roll_back();
    const std::lock_guard lock(mutex_);
    if (db) idle_.push_back(std::move(db));
    ++left_;
    free_.notify_one();
}

}  // namespace palimpsest
