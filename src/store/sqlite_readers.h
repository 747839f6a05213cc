// A small pool of connections that only read, each lent to one call at a time.
//
// A loan is one read transaction: everything that the call reads is of one moment. Read-only
// connections never write back the WAL, so they cannot disturb the writer.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/sqlite_db.h"

namespace palimpsest {

class SqliteReaders {
public:
    SqliteReaders(std::string path, std::size_t count) : path_(std::move(path)), left_(count) {}

    class Loan {
    public:
        Loan(SqliteReaders* pool, std::unique_ptr<SqliteDatabase> db)
            : pool_(pool), db_(std::move(db)) {}
        ~Loan();
        Loan(Loan&& other) noexcept = default;
        Loan(const Loan&) = delete;
        Loan& operator=(const Loan&) = delete;
        SqliteDatabase& operator*() const { return *db_; }

    private:
        SqliteReaders* pool_;
        std::unique_ptr<SqliteDatabase> db_;
    };
    // Waits while all connections are lent; opens one when fewer than allowed are open.
    Result<Loan> borrow();

private:
    Result<std::unique_ptr<SqliteDatabase>> take();
    void give_back(std::unique_ptr<SqliteDatabase> db);

    std::mutex mutex_;
    std::condition_variable free_;
    std::string path_;
    std::vector<std::unique_ptr<SqliteDatabase>> idle_;
    std::size_t left_;  // how many more may be lent
};

}  // namespace palimpsest
