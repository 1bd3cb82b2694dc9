// SPDX-License-Identifier: BSL-1.0
// SQLite in memory, a database for each thread: a table is filled, joined with itself, sorted, and dropped.
#include "workload.hpp"

#include <cstdio>
#include <cstdlib>
#include <sqlite3.h>

namespace bench {
namespace {

void check(int code, sqlite3* database)
{
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
    std::fprintf(stderr, "SQLite: %s\n", sqlite3_errmsg(database));
    std::exit(1);
}

class Database final : public Worker {
public:
    explicit Database(unsigned index) : random_(index + 1) { check(sqlite3_open(":memory:", &database_), database_); }
    ~Database() override { sqlite3_close(database_); }

    std::uint64_t work() override
    {
        run("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, boss INTEGER, pay REAL); BEGIN");
        sqlite3_stmt* insert = nullptr;
        check(sqlite3_prepare_v2(database_, "INSERT INTO people VALUES (?, ?, ?, ?)", -1, &insert, nullptr), database_);
        for (int id = 1; id <= 1000; ++id) {
            char name[64];
            const int length = std::snprintf(name, sizeof name, "somebody whose name is number %d",
                                             static_cast<int>(random_.between(0, 100'000)));
            sqlite3_bind_int(insert, 1, id);
            sqlite3_bind_text(insert, 2, name, length, SQLITE_TRANSIENT);
            sqlite3_bind_int(insert, 3, static_cast<int>(random_.between(0, 1000)));
            sqlite3_bind_double(insert, 4, static_cast<double>(random_.between(0, 100'000)));
            check(sqlite3_step(insert), database_);
            sqlite3_reset(insert);
        }
        sqlite3_finalize(insert);
        run("COMMIT; CREATE INDEX by_boss ON people (boss)");
        run("SELECT a.name || ' of ' || b.name FROM people a JOIN people b ON a.boss = b.id ORDER BY a.pay, b.name");
        run("SELECT boss, group_concat(name), avg(pay) FROM people GROUP BY boss ORDER BY 3 DESC");
        run("DROP TABLE people");
        return 1;
    }

private:
    void run(const char* statements)
    {
        check(sqlite3_exec(
                  database_, statements, [](void*, int, char**, char**) { return 0; }, nullptr, nullptr),
              database_);
    }

    sqlite3* database_ = nullptr;
    Random random_;
};

} // namespace

void run_sqlite(const Settings& settings)
{
    // Otherwise all threads meet at one lock of SQLite's, whatever watches the heap.
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    run_workers(settings, [](unsigned index) { return new Database(index); });
}

} // namespace bench
