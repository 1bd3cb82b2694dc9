// SPDX-License-Identifier: BSL-1.0
// A statement that is not finalised keeps a whole SQLite connection alive: sqlite3_close_v2 reports success, and waits
// for a finalise that never comes.
#include <heapmark/heapmark.hpp>
#include <heapmark/report.hpp>

#include <sqlite3.h>

#include <iostream>

// Right when `finalise` is true; when it is not, the connection and all that it holds stay.
int count_tables(bool finalise)
{
    sqlite3* database = nullptr;
    sqlite3_stmt* statement = nullptr;
    sqlite3_open(":memory:", &database);
    sqlite3_exec(database, "create table guests(name text)", nullptr, nullptr, nullptr);
    sqlite3_prepare_v2(database, "select count(*) from sqlite_master", -1, &statement, nullptr);
    const int tables = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
    if (finalise) sqlite3_finalize(statement);
    return sqlite3_close_v2(database) == SQLITE_OK ? tables : -1;
}

// SQLite counts its blocks too, which checks the answer below.
int blocks_by_sqlite()
{
    int now = 0;
    int highest = 0;
    sqlite3_status(SQLITE_STATUS_MALLOC_COUNT, &now, &highest, 0);
    return now;
}

int main()
{
    if (!heapmark::active()) {
        std::cerr << heapmark::status().problem << '\n';
        return 2;
    }
    sqlite3_initialize();
    count_tables(true); // what SQLite keeps for good, it makes on first use

    const heapmark::Generation clean = heapmark::mark("finalised");
    const int right = count_tables(true);
    const heapmark::Snapshot nothing = heapmark::survivors(clean);
    std::cout << nothing;

    const int held_before = blocks_by_sqlite();
    const heapmark::Generation leaking = heapmark::mark("not finalised");
    const int wrong = count_tables(false);
    const heapmark::Snapshot connection = heapmark::survivors(leaking);
    const int held_by_sqlite = blocks_by_sqlite() - held_before;
    heapmark::TextOptions largest;
    largest.max_groups = 3;
    heapmark::write_text(std::cout, connection, largest);
    std::cout << "SQLite's own count: " << held_by_sqlite << " blocks\n";

    const bool as_expected = right == 1 && wrong == 1 && nothing.empty() && held_by_sqlite > 0 &&
                             connection.size() == static_cast<std::size_t>(held_by_sqlite) &&
                             connection.filter(heapmark::in_function("count_tables")).size() == connection.size();
    return as_expected ? 0 : 1;
}
