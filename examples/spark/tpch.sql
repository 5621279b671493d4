-- The 22 queries of TPC-H (TPC Benchmark H, revision 3, 2.4), with the values of its validation.

-- 1
select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
  sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
  avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
from lineitem where l_shipdate <= date'1998-09-02' group by 1, 2 order by 1, 2;

-- 2
with offers as (
  select * from partsupp join supplier on s_suppkey = ps_suppkey
    join nation on s_nationkey = n_nationkey join region on n_regionkey = r_regionkey
  where r_name = 'EUROPE')
select s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
from part join offers on p_partkey = ps_partkey
  join (select ps_partkey as least_of, min(ps_supplycost) as least from offers group by 1)
    on p_partkey = least_of and ps_supplycost = least
where p_size = 15 and p_type like '%BRASS'
order by s_acctbal desc, n_name, s_name, p_partkey limit 100;

-- 3
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
from customer join orders on c_custkey = o_custkey join lineitem on l_orderkey = o_orderkey
where c_mktsegment = 'BUILDING' and o_orderdate < date'1995-03-15' and l_shipdate > date'1995-03-15'
group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10;

-- 4
select o_orderpriority, count(*) from orders
where o_orderdate >= date'1993-07-01' and o_orderdate < date'1993-10-01' and exists (
  select * from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate)
group by 1 order by 1;

-- 5
select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue
from customer join orders on c_custkey = o_custkey join lineitem on l_orderkey = o_orderkey
  join supplier on l_suppkey = s_suppkey and c_nationkey = s_nationkey
  join nation on s_nationkey = n_nationkey join region on n_regionkey = r_regionkey
where r_name = 'ASIA' and o_orderdate >= date'1994-01-01' and o_orderdate < date'1995-01-01'
group by 1 order by 2 desc;

-- 6
select sum(l_extendedprice * l_discount) from lineitem
where l_shipdate >= date'1994-01-01' and l_shipdate < date'1995-01-01'
  and l_discount between 0.05 and 0.07 and l_quantity < 24;

-- 7
select a.n_name, b.n_name, year(l_shipdate), sum(l_extendedprice * (1 - l_discount))
from supplier join lineitem on s_suppkey = l_suppkey join orders on o_orderkey = l_orderkey
  join customer on c_custkey = o_custkey join nation a on s_nationkey = a.n_nationkey
  join nation b on c_nationkey = b.n_nationkey
where l_shipdate between date'1995-01-01' and date'1996-12-31'
  and ((a.n_name = 'FRANCE' and b.n_name = 'GERMANY') or (a.n_name = 'GERMANY' and b.n_name = 'FRANCE'))
group by 1, 2, 3 order by 1, 2, 3;

-- 8
select year(o_orderdate), sum(case when b.n_name = 'BRAZIL' then l_extendedprice * (1 - l_discount)
  else 0 end) / sum(l_extendedprice * (1 - l_discount))
from part join lineitem on p_partkey = l_partkey join supplier on s_suppkey = l_suppkey
  join orders on l_orderkey = o_orderkey join customer on o_custkey = c_custkey
  join nation a on c_nationkey = a.n_nationkey join region on a.n_regionkey = r_regionkey
  join nation b on s_nationkey = b.n_nationkey
where r_name = 'AMERICA' and p_type = 'ECONOMY ANODIZED STEEL'
  and o_orderdate between date'1995-01-01' and date'1996-12-31'
group by 1 order by 1;

-- 9
select n_name, year(o_orderdate),
  sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)
from part join lineitem on p_partkey = l_partkey join supplier on s_suppkey = l_suppkey
  join partsupp on ps_suppkey = l_suppkey and ps_partkey = l_partkey
  join orders on o_orderkey = l_orderkey join nation on s_nationkey = n_nationkey
where p_name like '%green%' group by 1, 2 order by 1, 2 desc;

-- 10
select c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) as revenue, c_acctbal, n_name,
  c_address, c_phone, c_comment
from customer join orders on c_custkey = o_custkey join lineitem on l_orderkey = o_orderkey
  join nation on c_nationkey = n_nationkey
where o_orderdate >= date'1993-10-01' and o_orderdate < date'1994-01-01' and l_returnflag = 'R'
group by 1, 2, 4, 5, 6, 7, 8 order by revenue desc limit 20;

-- 11
with stock as (
  select ps_partkey, ps_supplycost * ps_availqty as value from partsupp
    join supplier on ps_suppkey = s_suppkey join nation on s_nationkey = n_nationkey
  where n_name = 'GERMANY')
select ps_partkey, sum(value) from stock group by 1
having sum(value) > (select sum(value) * 0.0001 from stock) order by 2 desc, 1;

-- 12
select l_shipmode, sum(if(o_orderpriority in ('1-URGENT', '2-HIGH'), 1, 0)),
  sum(if(o_orderpriority in ('1-URGENT', '2-HIGH'), 0, 1))
from orders join lineitem on o_orderkey = l_orderkey
where l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate
  and l_receiptdate >= date'1994-01-01' and l_receiptdate < date'1995-01-01'
group by 1 order by 1;

-- 13
select orders_of, count(*) from (
  select c_custkey, count(o_orderkey) as orders_of from customer left join orders
    on c_custkey = o_custkey and o_comment not like '%special%requests%' group by 1)
group by 1 order by 2 desc, 1 desc;

-- 14
select 100 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end)
  / sum(l_extendedprice * (1 - l_discount))
from lineitem join part on l_partkey = p_partkey
where l_shipdate >= date'1995-09-01' and l_shipdate < date'1995-10-01';

-- 15
with revenue as (
  select l_suppkey, sum(l_extendedprice * (1 - l_discount)) as total from lineitem
  where l_shipdate >= date'1996-01-01' and l_shipdate < date'1996-04-01' group by 1)
select s_suppkey, s_name, s_address, s_phone, total from supplier join revenue on s_suppkey = l_suppkey
where total = (select max(total) from revenue) order by 1;

-- 16
select p_brand, p_type, p_size, count(distinct ps_suppkey)
from partsupp join part on p_partkey = ps_partkey
where p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%'
  and p_size in (49, 14, 23, 45, 19, 3, 36, 9) and ps_suppkey not in (
    select s_suppkey from supplier where s_comment like '%Customer%Complaints%')
group by 1, 2, 3 order by 4 desc, 1, 2, 3;

-- 17
select sum(l_extendedprice) / 7.0 from lineitem join part on p_partkey = l_partkey
where p_brand = 'Brand#23' and p_container = 'MED BOX' and l_quantity < (
  select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey);

-- 18
select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)
from customer join orders on c_custkey = o_custkey join lineitem on o_orderkey = l_orderkey
where o_orderkey in (
  select l_orderkey from lineitem group by 1 having sum(l_quantity) > 300)
group by 1, 2, 3, 4, 5 order by 5 desc, 4 limit 100;

-- 19
select sum(l_extendedprice * (1 - l_discount)) from lineitem join part on p_partkey = l_partkey
where l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON' and p_size >= 1 and (
  (p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
    and l_quantity between 1 and 11 and p_size <= 5)
  or (p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
    and l_quantity between 10 and 20 and p_size <= 10)
  or (p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
    and l_quantity between 20 and 30 and p_size <= 15));

-- 20
select s_name, s_address from supplier join nation on s_nationkey = n_nationkey
where n_name = 'CANADA' and s_suppkey in (
  select ps_suppkey from partsupp
  where ps_partkey in (select p_partkey from part where p_name like 'forest%') and ps_availqty > (
    select 0.5 * sum(l_quantity) from lineitem where l_partkey = ps_partkey
      and l_suppkey = ps_suppkey and l_shipdate >= date'1994-01-01' and l_shipdate < date'1995-01-01'))
order by 1;

-- 21
select s_name, count(*) from supplier join lineitem a on s_suppkey = a.l_suppkey
  join orders on o_orderkey = a.l_orderkey join nation on s_nationkey = n_nationkey
where o_orderstatus = 'F' and a.l_receiptdate > a.l_commitdate and n_name = 'SAUDI ARABIA'
  and exists (select * from lineitem b
    where b.l_orderkey = a.l_orderkey and b.l_suppkey <> a.l_suppkey)
  and not exists (select * from lineitem c where c.l_orderkey = a.l_orderkey
    and c.l_suppkey <> a.l_suppkey and c.l_receiptdate > c.l_commitdate)
group by 1 order by 2 desc, 1 limit 100;

-- 22
with callers as (
  select substring(c_phone, 1, 2) as code, c_acctbal, c_custkey from customer
  where substring(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17'))
select code, count(*), sum(c_acctbal) from callers
where c_acctbal > (select avg(c_acctbal) from callers where c_acctbal > 0)
  and not exists (select * from orders where o_custkey = c_custkey)
group by 1 order by 1;
