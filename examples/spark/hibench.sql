-- What applications like those of HiBench read and do. `swallow.py` fills in {data}, {out} and {rows}.

-- table text
SELECT id, pmod(xxhash64(id, 'class'), 20) AS class,
       concat_ws(' ', transform(
           transform(sequence(1, 10), k -> int(1000 * pow(pmod(xxhash64(id, k), 1000003) / 1000003, 2))),
           w -> substring(sha2(string(w), 256), 1, 3 + w % 8))) AS line
FROM range({rows});

-- table records
SELECT unhex(substring(sha2(string(id), 256), 1, 20)) AS key, lpad(hex(id), 32, '0') AS row,
       repeat(char(65 + pmod(id, 26)), 52) AS filler
FROM range({rows});

-- table links
SELECT int({rows} / 8 * pow(pmod(xxhash64(id, 1), 1000003) / 1000003, 2)) AS src,
       int({rows} / 8 * pmod(xxhash64(id, 2), 1000003) / 1000003) AS dst,
       pmod(xxhash64(id, 3), 1000) / 1000 AS weight
FROM range({rows} div 2);

-- table pages
SELECT concat('http://site-', pmod(xxhash64(id), 5000), '.example/page/', id) AS url,
       pmod(xxhash64(id, 'rank'), 100) AS rank
FROM range({rows} div 10);

-- table visits
SELECT concat('http://site-', pmod(xxhash64(page), 5000), '.example/page/', page) AS url, ip, revenue, agent
FROM (SELECT pmod(xxhash64(id, 'page'), {rows} div 10) AS page,
             concat_ws('.', 10, pmod(xxhash64(id, 1), 4), pmod(xxhash64(id, 2), 250), pmod(xxhash64(id, 3), 50)) AS ip,
             pmod(xxhash64(id, 'revenue'), 10000) / 100 AS revenue,
             concat('browser/', pmod(xxhash64(id, 'agent'), 30), '.0 (', sha1(string(pmod(id, 100))), ')') AS agent
      FROM range({rows}));

-- application Wordcount
SELECT word, count(*) AS times FROM (SELECT explode(split(line, ' ')) AS word FROM text) GROUP BY word;

-- application Sort
SELECT line FROM text ORDER BY line;

-- application Terasort
SELECT key, row, filler FROM records ORDER BY key;

-- application Bayes
WITH terms AS (SELECT class, explode(split(line, ' ')) AS word FROM text),
     counts AS (SELECT class, word, count(*) AS times FROM terms GROUP BY class, word),
     totals AS (SELECT class, sum(times) AS all_times FROM counts GROUP BY class)
SELECT class, word, ln((times + 1) / (all_times + 1000)) AS weight FROM counts JOIN totals USING (class);

-- application Pagerank
WITH degrees AS (SELECT src, count(*) AS degree FROM links GROUP BY src),
     edges AS (SELECT src, dst, degree FROM links JOIN degrees USING (src)),
     first AS (SELECT dst AS src, 0.15 + 0.85 * sum(1 / degree) AS rank FROM edges GROUP BY dst),
     second AS (SELECT dst AS src, 0.15 + 0.85 * sum(rank / degree) AS rank FROM edges JOIN first USING (src)
                GROUP BY dst)
SELECT dst, round(0.15 + 0.85 * sum(rank / degree), 6) AS rank FROM edges JOIN second USING (src) GROUP BY dst;

-- application NWeight
SELECT a.src, b.dst, round(sum(a.weight * b.weight), 6) AS weight
FROM links a JOIN links b ON a.dst = b.src GROUP BY a.src, b.dst;

-- application Join
SELECT ip, round(avg(rank), 6) AS rank, round(sum(revenue), 2) AS revenue, max(agent) AS agent
FROM visits JOIN pages USING (url) GROUP BY ip ORDER BY revenue DESC, ip;
