# SPDX-License-Identifier: BSL-1.0
# needs: sqlite3
# processes: 3
sqlite3 shop.db 'create table item (id integer primary key, name text, price real)'
sqlite3 shop.db <<'SQL'
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
insert into item (name, price) select printf('item %05d', i), i * 0.25 from n;
create index by_name on item (name);
update item set price = price * 2 where id % 3 = 0;
delete from item where id % 7 = 0;
vacuum;
SQL
sqlite3 -header -column shop.db <<'SQL'
select count(*), sum(price), min(name), max(name) from item;
select substr(name, 1, 8) as start, count(*) from item group by start order by start limit 20;
select json_group_array(json_object('id', id, 'name', name)) from item where id < 40;
pragma integrity_check;
SQL
sqlite3 shop.db 'select nothing from nowhere' || echo "status $?"
