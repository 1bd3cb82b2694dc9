// SPDX-License-Identifier: BSL-1.0
#include "scenario.hpp"

#include <sqlite3.h>

#include <string>

namespace {

class Database {
public:
    Database() { EXPECT(sqlite3_open(":memory:", &db_) == SQLITE_OK); }
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database() { sqlite3_close_v2(db_); }
    [[nodiscard]] sqlite3* get() const { return db_; }
    void run(const char* sql) const { EXPECT(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == SQLITE_OK); }

private:
    sqlite3* db_ = nullptr;
};

} // namespace

SCENARIO(SQLite, Connection)
{
    sqlite3* db = nullptr;
    EXPECT(sqlite3_open(":memory:", &db) == SQLITE_OK);
    EXPECT(sqlite3_exec(db, "create table t(x)", nullptr, nullptr, nullptr) == SQLITE_OK);
    if (!leaks) sqlite3_close(db);
}

SCENARIO(SQLite, Statement)
{
    const Database db;
    db.run("create table t(x); insert into t values (1), (2)");
    sqlite3_stmt* rows = nullptr;
    EXPECT(sqlite3_prepare_v2(db.get(), "select x from t", -1, &rows, nullptr) == SQLITE_OK);
    EXPECT(sqlite3_step(rows) == SQLITE_ROW);
    if (!leaks) sqlite3_finalize(rows);
}

SCENARIO(SQLite, ErrorMessage)
{
    const Database db;
    char* message = nullptr;
    EXPECT(sqlite3_exec(db.get(), "select 1 from nowhere", nullptr, nullptr, &message) == SQLITE_ERROR);
    EXPECT(std::string(message).find("nowhere") != std::string::npos);
    if (!leaks) sqlite3_free(message);
}

SCENARIO(SQLite, FormattedText)
{
    char* text = sqlite3_mprintf("insert into t values (%Q)", "it's");
    EXPECT(std::string(text).find("it''s") != std::string::npos);
    if (!leaks) sqlite3_free(text);
}

SCENARIO(SQLite, ResultTable)
{
    const Database db;
    db.run("create table t(x); insert into t values (1), (2)");
    char** cells = nullptr;
    int rows = 0;
    EXPECT(sqlite3_get_table(db.get(), "select x from t", &cells, &rows, nullptr, nullptr) == SQLITE_OK);
    EXPECT(rows == 2);
    if (!leaks) sqlite3_free_table(cells);
}

SCENARIO(SQLite, Serialized)
{
    const Database db;
    db.run("create table t(x)");
    sqlite3_int64 size = 0;
    unsigned char* image = sqlite3_serialize(db.get(), "main", &size, 0);
    EXPECT(size > 0);
    if (!leaks) sqlite3_free(image);
}

SCENARIO(SQLite, FunctionData)
{
    const Database db;
    const auto once = [](sqlite3_context* context, int, sqlite3_value**) {
        sqlite3_result_text(context, static_cast<std::string*>(sqlite3_user_data(context))->c_str(), -1,
                            SQLITE_TRANSIENT);
    };
    auto* data = new std::string(50, 'x');
    const auto release = [](void* text) { delete static_cast<std::string*>(text); };
    EXPECT(sqlite3_create_function_v2(db.get(), "once", 0, SQLITE_UTF8, data, once, nullptr, nullptr,
                                      leaks ? nullptr : +release) == SQLITE_OK);
    db.run("select once()");
}

SCENARIO(SQLite, Backup)
{
    const Database from;
    from.run("create table t(x); insert into t values (randomblob(20000))");
    const Database to;
    sqlite3_backup* backup = sqlite3_backup_init(to.get(), "main", from.get(), "main");
    EXPECT(backup != nullptr && sqlite3_backup_step(backup, 1) == SQLITE_OK);
    if (!leaks) sqlite3_backup_finish(backup);
}
